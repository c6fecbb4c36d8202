"""Black and white pictures of 8 x 8 pixels: 16 hexadecimal digits, two for each row, a bit for each pixel, 1 for ink."""

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from attnlib.course.live._figure import FigureError

PIXELS, SIDE = 64, 8
BLANK = "0" * 16


def written(picture: str | Sequence[float] | Tensor) -> str:
    """A picture as a string; one that is a string already is left as it is. Of 64 numbers those above zero are ink."""
    if isinstance(picture, str):
        return picture
    ink = [float(pixel) > 0 for pixel in picture]
    if len(ink) != PIXELS:
        raise FigureError(f"a picture has {len(ink)} pixels; expected {PIXELS}")
    return f"{sum(dark << PIXELS - 1 - place for place, dark in enumerate(ink)):016x}"


def spins(pictures: Sequence[str]) -> Tensor:
    """Pictures as spins ``[m, 64]``, 1 for ink and -1 for paper."""
    bits = [[int(pixel) for pixel in f"{int(picture, 16):064b}"] for picture in pictures]
    return 2 * torch.tensor(bits, dtype=torch.float64) - 1


def check_picture(what: str, picture: str) -> None:
    if not re.fullmatch("[0-9a-f]{16}", picture):
        raise FigureError(f"{what} {picture!r}; expected 16 hexadecimal digits in small letters")


def drawn(picture: str, left: int, top: int, pixel: int) -> str:
    """A picture as rows of strokes."""
    rows = [f"{int(picture[i : i + 2], 16):08b}" for i in range(0, 16, 2)]
    path = "".join(
        f"M{left + pixel * run.start()} {top + pixel * row + pixel // 2}h{pixel * len(run[0])}"
        for row, bits in enumerate(rows)
        for run in re.finditer("1+", bits)
    )
    side = SIDE * pixel
    return (
        f'<path d="M{left} {top}h{side}v{side}h-{side}z" fill="white" stroke="#d8d8d0"/>'
        f'<path d="{path}" stroke="#1d2733" stroke-width="{pixel}"/>'
    )
