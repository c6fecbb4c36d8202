"""What a visitor on a slow line waits for, from bytes and answers alone: so it is the same however busy this machine is."""

LATENCY, RATE = 0.5625, 180_000
"""Chromium's own "slow 4G": seconds until an answer begins, bytes a second."""

STYLE = "_static/book.css"
"""The one style sheet of a page: its text waits for this and for nothing else."""

READ, DRAWN = 2.0, 0.25
"""Seconds until the text is there, and how many of them are left to draw it."""


def last_of_the_text(document: int, style: int) -> float:
    """Seconds until the last byte is there of what the text waits for: a document and its style sheet, in bytes.

    The style sheet is asked for when the document begins, and its answer begins when the document is there, or later.
    """
    return max(LATENCY + document / RATE, 2 * LATENCY) + style / RATE
