"""The rule for late work: when it is late, and what that costs.

The deduction is a share of the points that were reached, so that it never takes more than there is. Each period that has begun
counts whole. Whoever is late beyond the grace is late from the due time on. A time that is not known costs nothing.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class LateRule:
    """When work is due, and what a late one costs.

    Args:
        due: the time until which it is not late.
        grace: how much later it still costs nothing.
        share: what each period that has begun costs, of the points that were reached.
        period: how long a period is.
        most: what lateness costs at most.
    """

    due: datetime
    grace: timedelta = timedelta(0)
    share: Fraction = Fraction(0)
    period: timedelta = timedelta(days=1)
    most: Fraction = Fraction(1)

    def late(self, when: datetime | None) -> timedelta | None:
        """By how much something is late; None where the time is not known."""
        if when is None:
            return None
        by = when - self.due
        return by if by > self.grace else timedelta(0)

    def deduction(self, when: datetime | None, points: Fraction) -> Fraction:
        """What is taken from the points reached, to two decimals, half a hundredth in favour of the student.

        >>> rule = rule_from("2026-12-01T23:59+01:00", "10m", "10%/day", "50%")
        >>> [rule.deduction(rule.due + timedelta(minutes=m), Fraction(18)) for m in (10, 11, 1440, 1441, 14400)]
        [Fraction(0, 1), Fraction(9, 5), Fraction(9, 5), Fraction(18, 5), Fraction(9, 1)]
        """
        late = self.late(when)
        if not late or points <= 0:
            return Fraction(0)
        begun = -(-late // self.period)
        exact = min(begun * self.share, self.most) * points
        return Fraction(-((Fraction(1, 2) - exact * 100) // 1), 100)

    @property
    def sentence(self) -> str:
        """The rule in words."""
        rule = f"due {self.due.isoformat(sep=' ', timespec='minutes')}"
        if self.grace:
            rule += f", {spoken(self.grace)} of grace"
        if not self.share:
            return f"{rule}; lateness costs nothing"
        period = next(name for name, length in PERIODS.items() if length == self.period)
        return f"{rule}; each {period} begun costs {_percent(self.share)} of the points reached, {_percent(self.most)} at most"


def rule_from(due: str, grace: str = "0m", late: str = "", most: str = "100%") -> LateRule:
    """The rule from words of the command line. Raises ValueError where they say none."""
    try:
        when = datetime.fromisoformat(due)
    except ValueError:
        raise ValueError(f"--due is {due!r}; expected a time such as 2026-12-01T23:59+01:00") from None
    when = when if when.tzinfo else when.astimezone()
    length = re.fullmatch(r"(\d+)\s*([smhd])", grace)
    if not length:
        raise ValueError(f"--grace is {grace!r}; expected a time such as 10m, 2h or 1d")
    share, period = Fraction(0), "day"
    if late:
        words = re.fullmatch(r"([\d.]+%)\s*/\s*(hour|day|week)", late)
        if not words:
            raise ValueError(f"--late is {late!r}; expected a share and a period, such as 10%/day or 1%/hour")
        share, period = _share(words[1], "--late"), words[2]
    grace_time = timedelta(seconds=int(length[1]) * _UNITS[length[2]])
    return LateRule(when, grace_time, share, PERIODS[period], _share(most, "--late-most"))


def _share(text: str, option: str) -> Fraction:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if not match or Fraction(match[1]) > 100:
        raise ValueError(f"{option} has {text!r}; expected a share between 0% and 100%")
    return Fraction(match[1]) / 100


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):g}%"


def spoken(time: timedelta) -> str:
    """A time in days, hours and minutes.

    >>> spoken(timedelta(days=1, minutes=3)), spoken(timedelta(seconds=20))
    ('1 d 3 min', '1 min')
    """
    minutes = max(1, int(time.total_seconds() // 60)) if time else 0
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    return " ".join(f"{n} {unit}" for n, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if n) or "0 min"
