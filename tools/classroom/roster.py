"""Who is in the class: a table with names, numbers and logins, as Canvas and Moodle export it or as a teacher writes it.

A hand-in is matched by the platform's number, then by login or mail, then by name. Where two people fit, nobody is taken.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from classroom.names import LONGEST, Named, clean

HEADERS = {
    "id": {"id", "user id", "canvas user id", "student id"},
    "number": {"identifier"},
    "sis": {"sis user id", "id number", "student number"},
    "login": {"sis login id", "login", "login id", "username", "user name", "user"},
    "email": {"email", "email address", "e-mail", "e-mail address", "mail"},
    "name": {"name", "full name", "student", "student name"},
    "first": {"first name", "firstname", "given name"},
    "last": {"last name", "lastname", "surname", "family name"},
    "section": {"section", "groups", "group"},
    "handed in": {"handed in", "submitted", "last modified (submission)"},
}
"""What the columns are called: by Canvas (gradebook), by Moodle (gradebook, participants, grading worksheet), by teachers."""
TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %I:%M %p")
"""How Moodle writes the time of a hand-in, in English."""


def squeezed(name: str) -> str:
    """The letters and digits of a name, case and layout aside. Names are compared so.

    >>> squeezed("O'Neil, Zoë") == squeezed("oneilzoe\\u0308")
    True
    """
    return "".join(sign for sign in unicodedata.normalize("NFKC", name).casefold() if sign.isalnum())


@dataclass(frozen=True)
class Person:
    """Someone on the roster. ``row`` is their row as it was."""

    name: str
    id: str = ""
    number: str = ""
    sis: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    when: datetime | None = None
    row: dict[str, str] = field(default_factory=dict, compare=False, hash=False)

    @property
    def key(self) -> str:
        """What tells them from others: a number, or else login, mail, name."""
        return self.id or self.number or self.sis or self.login or self.email or self.name

    @cached_property
    def names(self) -> frozenset[str]:
        """Their name in both orders, squeezed."""
        last, comma, first = self.name.partition(",")
        words = [first.strip(), last.strip()] if comma else self.name.split()
        return frozenset(map(squeezed, (self.name, " ".join(words), " ".join([*words[-1:], *words[:-1]])))) - {""}


@dataclass
class Roster:
    """Who is in the class, and the columns of the table they come from."""

    people: list[Person]
    columns: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def find(self, named: Named) -> tuple[Person | None, str]:
        """Who that is, or None and why."""
        who, name = named.student, squeezed(named.student)

        def fits(test: Callable[[Person], bool]) -> list[Person]:
            return [person for person in self.people if test(person)]

        by_name = fits(lambda person: name in person.names)
        number = {"canvas": "id", "moodle": "number"}.get(named.platform)
        stages: list[tuple[str, list[Person]]] = []
        if named.id and number:
            by_id = fits(lambda person: getattr(person, number) == named.id)
            if len(by_id) == 1 and by_id != by_name and len(by_name) == 1:
                return None, f"the number {named.id} is that of {by_id[0].name}, the name that of {by_name[0].name}"
            stages.append((f"the number {named.id}", by_id))
        elif not named.platform:
            stages.append((f"the number {who}", fits(lambda person: who in {person.id, person.number, person.sis} - {""})))
        login = (named.login or who).casefold()
        stages.append((f"the login {login}", fits(lambda person: login in {person.login.casefold(), person.email.casefold()})))
        stages.append((f"the name {who}", by_name))
        for what, found in stages:
            if len(found) > 1:
                return None, f"{what} fits {len(found)} people on the roster: {'; '.join(person.name for person in found)}"
            if found:
                return found[0], ""
        return None, "not on the roster"


def table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of a CSV, whatever its separator and its encoding. Raises ValueError where it is none."""
    content = path.read_bytes()
    if b"\0" in content[:1000]:
        text = content.decode("utf-16", "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:  # a spreadsheet program of a system that is not set to UTF-8
            text = content.decode("cp1252", "replace")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"{path} is not a table: {error}") from None
    if not rows:
        raise ValueError(f"{path} is empty")
    columns = [name.strip() for name in rows[0]]
    return columns, [{name: cell.strip() for name, cell in zip(columns, row)} for row in rows[1:] if any(map(str.strip, row))]


def read(path: Path) -> Roster:
    """Read a roster. Raises ValueError where no column says who it is."""
    columns, rows = table(path)
    known = {what: [name for name in columns if name.casefold() in HEADERS[what]][:1] for what in HEADERS}
    if not known["name"] and not known["last"]:
        raise ValueError(f"{path} has the columns {columns}; expected one that is called name, Student, Full name or Last name")
    people, troubles = list[Person](), list[str]()

    def said(row: dict[str, str], what: str) -> str:
        return clean(row.get(known[what][0], ""), LONGEST) if known[what] else ""

    for row in rows:
        name = said(row, "name") or " ".join(filter(None, (said(row, "first"), said(row, "last"))))
        if not name or "points possible" in name.casefold():
            continue
        number = re.sub(r"^.*?(\d+)$", r"\1", said(row, "number"))
        when = _time(said(row, "handed in"))
        if when is None and said(row, "handed in").strip("-"):
            troubles.append(f"{name}: the time {said(row, 'handed in')!r} cannot be read")
        rest = {what: said(row, what) for what in ("id", "sis", "login", "email", "section")}
        people.append(Person(name, number=number, when=when, row=row, **rest))
    for key in _twice(person.key for person in people):
        troubles.append(f"{key} is on the roster twice")
    return Roster(people, columns, troubles)


def _twice(keys: Iterable[str]) -> list[str]:
    seen, found = set[str](), list[str]()
    for key in keys:
        if key in seen and key not in found:
            found.append(key)
        seen.add(key)
    return found


def _time(text: str) -> datetime | None:
    """A time as Moodle writes it, or as ISO 8601 does."""
    for layout in TIMES:
        try:
            return datetime.strptime(text, layout)
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
