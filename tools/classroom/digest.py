"""What the class got right and wrong, for the next lecture: points, the commonest mistakes, what did not run.

``digest.html`` and ``digest.md`` count and name nobody. ``digest_names.md`` says who; it is for the teacher alone.
"""

import builtins
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from classroom.judge import Mark
from classroom.master import Master
from classroom.question import Question
from classroom.rows import Row
from classroom.writing import number, page, safe

RUN = ("graded", "incomplete")
"""What was run. Whoever handed in nothing that ran tells nothing about a question."""
MOST = 8
"""Rows of a list."""


@dataclass
class Asked:
    """What became of a question: numbers of students, and who made which mistake."""

    number: str
    title: str
    right: int = 0
    partly: int = 0
    wrong: int = 0
    open: int = 0
    points: Fraction = Fraction(0)
    of: int = 0
    cases: Counter[str] = field(default_factory=Counter)
    mistakes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def given(self) -> int:
        """Who has points."""
        return self.right + self.partly + self.wrong

    @property
    def mean(self) -> str:
        """The mean of the points."""
        return number(Fraction(round(100 * self.points / self.given), 100)) if self.given else ""


@dataclass
class Digest:
    """A class."""

    ran: int
    rows: int
    asked: list[Asked]
    stopped: Counter[str]


def digest(rows: Sequence[Row], master: Master) -> Digest:
    """Count."""
    ran = [row for row in rows if row.result.status in RUN]
    asked = []
    for place, question in enumerate(master.questions):
        one = Asked(question.number, _title(master, question.number), of=question.points)
        for row in ran:
            mark, given = row.result.marks[place], row.points[question.number]
            if given is None:
                one.open += 1
                continue
            kind = "right" if given >= mark.of else "partly" if given > 0 else "wrong"
            setattr(one, kind, getattr(one, kind) + 1)
            one.points += given
            if isinstance(question, Question):
                one.cases.update(name for name in question.cases if name not in mark.right)
                if sentence := _sentence(question, mark):
                    one.mistakes.setdefault(sentence, []).append(row.student)
        asked.append(one)
    stopped = Counter(stop for row in ran for stop in dict.fromkeys(map(_stopped, row.result.notes)) if stop)
    return Digest(len(ran), len(rows), asked, stopped)


def _title(master: Master, asked: str) -> str:
    for cell in master.cells:
        if cell.source.startswith(f"## Question {asked}."):
            return re.sub(r" \(\d+ points?\)$", "", cell.source.splitlines()[0].removeprefix("## "))
    return f"Question {asked}"


def _sentence(question: Question, mark: Mark) -> str:
    """The sentence of a named mistake, from the master; of what has no name, what kind it is."""
    if mark.points == mark.of:
        return ""
    if mark.mistake is not None and mark.mistake in question.wrong:
        return question.wrong[mark.mistake].message
    if re.match(r"not yet\. It (took too|ended Python|started too|returned too|did not come)", mark.message):
        return "(It did not run to its end.)"
    if "raised" in mark.message:
        return "(It raised an error.)"
    if "returns nothing" in mark.message or "no function" in mark.message:
        return "(There is no answer.)"
    if "shape" in mark.message and "was expected" in mark.message:
        return "(The shape is another.)"
    return "(Another mistake, which has no name.)"


def _stopped(note: str) -> str:
    """What a note says without words of a student's: where it stopped, and a kind of error that Python knows."""
    match = re.match(r"(cell \d{1,3}|question \w{1,3}): (\w*)(.*)", note)
    if not match:
        return ""
    kind = getattr(builtins, match[2], None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return f"{match[1]}: {match[2]}"
    text = f"{match[2]}{match[3]}"
    return f"{match[1]}: {text if re.fullmatch(r'(took|ended|started|returned)( [a-zA-Z]+){1,4}', text) else 'an error'}"


def _lines(asked: Asked, names: bool) -> list[tuple[int, str]]:
    """The commonest mistakes of a question, with how many made them."""
    common = sorted(asked.mistakes.items(), key=lambda item: (item[0].startswith("("), -len(item[1]), item[0]))
    return [(len(who), f"{text} {', '.join(who)}." if names else text) for text, who in common[:MOST]]


def markdown(found: Digest, title: str, names: bool = False) -> str:
    """The digest as text."""
    lines = [
        f"# {title}",
        "",
        _ran(found),
        "",
    ]
    for asked in found.asked:
        lines += [f"## {asked.title}", "", _count(asked)]
        lines += [""] if asked.mistakes or asked.cases else []
        lines += [f"- {count}: {_plain(text)}" for count, text in _lines(asked, names)]
        lines += [f"- Hidden case *{name}*: not right for {count}." for name, count in asked.cases.most_common(MOST)]
        lines.append("")
    if found.stopped:
        lines += ["## What did not run", "", *(f"- {count}: {stop}" for stop, count in found.stopped.most_common(MOST)), ""]
    return "\n".join(lines)


def html(found: Digest, title: str) -> str:
    """The digest as a page, without names."""
    parts = [
        f"<h1>{safe(title)}</h1>",
        f"<p>{_ran(found)}</p>",
    ]
    for asked in found.asked:
        mistakes = "".join(f'<tr><td class="n">{count}</td><td>{safe(text)}</td></tr>' for count, text in _lines(asked, False))
        table = (
            f"<table><tr><th class=n>how many</th><th>what they probably did</th></tr>{mistakes}</table>" if mistakes else ""
        )
        cases = ", ".join(f"{safe(name)} ({count})" for name, count in asked.cases.most_common(MOST))
        missed = f'<p class="soft">Hidden cases that were not right: {cases}.</p>' if cases else ""
        parts.append(f"<section><h2>{safe(asked.title)}</h2><p>{safe(_count(asked))}</p>{table}{missed}</section>")
    if found.stopped:
        stops = "".join(
            f'<tr><td class="n">{count}</td><td>{safe(stop)}</td></tr>' for stop, count in found.stopped.most_common(MOST)
        )
        parts.append(f"<section><h2>What did not run</h2><table>{stops}</table></section>")
    return page(f"{title}: digest", "\n".join(parts))


def _ran(found: Digest) -> str:
    return f"{found.ran} of {found.rows} students handed in a notebook that was run."


def _count(asked: Asked) -> str:
    said = f"{asked.right} right, {asked.partly} partly right, {asked.wrong} wrong"
    said += f", {asked.open} without points yet" if asked.open else ""
    return f"{said}; {asked.mean} of {asked.of} points on average." if asked.given else f"{said}."


def _plain(text: str) -> str:
    """Text without effect in Markdown."""
    return re.sub(r"([\\`*_<>\[\]#|$])", r"\\\1", text)
