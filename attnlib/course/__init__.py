"""What teaches with the library: claims, figures, exercises, data, models. Nothing in the library imports it."""

from attnlib.course.claims import ClaimError, claim
from attnlib.course.data.recorded import recorded
from attnlib.course.exercises import check

__all__ = [
    "ClaimError",
    "check",
    "claim",
    "recorded",
]
