"""From an inbox to submissions: a row for everything that lies in it, whatever it is, and a stated rule which notebook counts.

An entry is a file, a folder or a zip in the inbox. What belongs to one student is one submission. Of several notebooks that
counts which, in this order: is named like the assignment; was handed in last, as the platform says; was changed last, where the
times differ by more than two seconds; has the name that comes last as people count, ``1-softmax (10)`` after ``1-softmax (2)``.
Those that were passed over are named. In a folder of nbgrader's only the folder of the assignment counts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from classroom.files import File, Private, inbox, is_litter, is_zip
from classroom.names import LONGEST, NOTEBOOK, Named, clean, counted, read
from classroom.roster import Person, Roster

NOT_A_NOTEBOOK, NOTHING = "not a notebook", "nothing handed in"
SAME_TIME = 2.0
"""Seconds: zips count time in twos, and copying a folder takes a moment."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?: UTC|Z)?\s*$")


@dataclass(frozen=True)
class Submission:
    """A notebook and whose it is, or a hand-in that holds none.

    Args:
        student: the name, at most 80 letters.
        path: where the notebook is.
        key: what tells the student from others, from one run to the next: a number, or else login or name.
        person: who it is on the roster.
        named: what the platform's name says.
        entry: where it lay in the inbox.
        when: the time of hand-in, where it is known.
        clock: who says so.
        passed_over: what else of this student's lay in the inbox.
        notes: what a teacher should know.
        status: what is known before anything is run; empty where there is something to run.
    """

    student: str
    path: Path
    key: str = ""
    person: Person | None = None
    named: Named | None = None
    entry: str = ""
    when: datetime | None = None
    clock: str = ""
    passed_over: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True)
class _Entry:
    """An entry of the inbox: what its name says, its files, and who it is."""

    named: Named
    files: tuple[File, ...]
    person: Person | None = None
    note: str = ""

    @property
    def owner(self) -> str:
        """What entries of one student have in common."""
        if self.person:
            return f"roster {self.person.key} {self.person.name}"
        return f"{self.named.platform} {self.named.id or self.named.student}"


@dataclass(frozen=True)
class _Notebook:
    """A notebook that could count."""

    file: File
    named: Named
    when: datetime | None
    clock: str


def collected(
    place: Path,
    assignment: str,
    private: Private,
    roster: Roster | None = None,
    zone: tzinfo | None = None,
    believe_files: bool = False,
) -> tuple[list[Submission], list[str]]:
    """The submissions in an inbox, by name, and what was left out of it.

    Args:
        place: the inbox, a folder or a zip.
        assignment: the name of the assignment.
        private: a private folder, in which zips are unpacked.
        roster: who is in the class. Who handed in nothing gets a row.
        zone: of times that do not say theirs; that of this machine unless given.
        believe_files: whether the time of a file is that of its hand-in, where nobody else says it.

    Raises:
        ValueError: where the inbox is neither a folder nor a zip.
    """
    found: dict[str, list[File]] = {}
    for file in inbox(place, private):
        found.setdefault(file.parts[0], []).append(file)
    litter = sorted(name for name in found if is_litter(name))
    entries: dict[str, list[_Entry]] = {}
    for name, files in found.items():
        if name not in litter:
            entry = _Entry(read(name, any(len(file.parts) > 1 for file in files) and not is_zip(name)), tuple(files))
            if roster:
                person, note = roster.find(entry.named)
                entry = replace(entry, person=person, note=note)
            entries.setdefault(entry.owner, []).append(entry)
    made = [_submission(of_one, assignment, zone, believe_files) for of_one in entries.values()]
    there = {submission.person.key for submission in made if submission.person}
    for person in roster.people if roster else ():
        if person.key not in there:
            made.append(Submission(person.name, Path(), person.key, person, status=NOTHING))
    made.sort(key=lambda submission: (counted(submission.student), submission.entry))
    twice = Counter(submission.key for submission in made)
    made = [replace(one, key=f"{one.key} {one.entry}") if twice[one.key] > 1 else one for one in made]
    return made, [f"{clean(name, LONGEST)} was left out: a system made it" for name in litter]


def _submission(entries: Sequence[_Entry], assignment: str, zone: tzinfo | None, believe_files: bool) -> Submission:
    """One student's submission."""
    person, named = entries[0].person, max((entry.named for entry in entries), key=lambda named: named.attempt)
    notes = list(dict.fromkeys(entry.note for entry in entries if entry.note))
    if len(entries) > 1:
        notes.append(f"{len(entries)} hand-ins of one student")
    notebooks, others = list[_Notebook](), list[File]()
    for entry in entries:
        counting, note = _counting(entry.files, assignment)
        notes += [note] if note else []
        for file in counting:
            if file.path and NOTEBOOK.search(file.parts[-1]):
                notebooks.append(_Notebook(file, entry.named, *_time(entry, file, zone, believe_files)))
            elif file.parts[-1] != "timestamp.txt":
                others.append(file)
    student = clean(person.name if person else named.student, LONGEST)
    key = person.key if person else named.id or named.student
    if any(entry.named.late for entry in entries):
        notes.append("the platform says that it was late, and not by how much")
    by_roster = (_zoned(person.when, zone), "roster") if person and person.when else None
    if not notebooks:
        why = list(dict.fromkeys(file.trouble or "it is not a notebook" for file in others))[:3] or ["there is no notebook"]
        first = others[0] if others else entries[0].files[0]
        given = Submission(student, Path(*first.parts), key, person, named, _where(first), status=NOT_A_NOTEBOOK)
        when, clock = by_roster or (None, "")
        return replace(given, when=when, clock=clock, passed_over=tuple(map(_where, others[1:])), notes=(*notes, *why))
    best = chosen(notebooks, assignment)
    when, clock = by_roster or (best.when, best.clock)
    passed_over = [*(one.file for one in notebooks if one is not best), *others]
    assert best.file.path
    return Submission(
        student,
        best.file.path,
        key,
        person,
        best.named,
        _where(best.file),
        when,
        clock,
        tuple(_where(file) + (f" ({file.trouble})" if file.trouble else "") for file in passed_over),
        tuple(notes),
    )


def chosen(notebooks: Iterable[_Notebook], assignment: str) -> _Notebook:
    """Which of several notebooks counts: see above."""
    left = list(notebooks)
    wanted = _letters(assignment)
    like = [
        one
        for one in left
        if wanted in _letters(one.named.file or one.file.parts[-1]) or wanted in _letters(one.file.parts[-1])
    ]
    left = like or left
    times = [one.when for one in left if one.when]
    left = [one for one in left if one.when == max(times)] if len(times) == len(left) else left
    left = [one for one in left if one.named.attempt == max(other.named.attempt for other in left)]
    changed = max(map(_changed, left))
    left = [one for one in left if _changed(one) >= changed - SAME_TIME]
    return max(left, key=lambda one: (counted(one.file.parts[-1]), one.file.parts))


def _changed(one: _Notebook) -> float:
    """When it was changed. Canvas writes the time of the download into its zip, which says nothing."""
    return 0.0 if one.named.platform == "canvas" else one.file.changed


def _counting(files: Sequence[File], assignment: str) -> tuple[Sequence[File], str]:
    """The files of an entry that can count, and a note: in a folder of nbgrader's, those of the assignment."""
    inside = [file for file in files if len(file.parts) > 2 and file.parts[1].casefold() == assignment.casefold()]
    if inside:
        return inside, ""
    others = {
        file.parts[1] for file in files if len(file.parts) == 3 and file.parts[2] == "timestamp.txt" and not file.by_student
    }
    if others:
        named = ", ".join(clean(name, LONGEST) for name in sorted(others))
        left = [file for file in files if len(file.parts) < 3 or file.parts[1] not in others]
        return left, f"handed in for other assignments: {named}"
    return files, ""


def _time(entry: _Entry, file: File, zone: tzinfo | None, believe_files: bool) -> tuple[datetime | None, str]:
    """The time of hand-in and who says so. What a student could have written is not believed."""
    if entry.named.when:
        return _zoned(entry.named.when, zone), "platform"
    if not entry.named.platform:
        for stamp in entry.files:
            if stamp.path and not stamp.by_student and stamp.parts[1:] == (*file.parts[1:2], "timestamp.txt"):
                match = _STAMP.match(stamp.path.read_text(encoding="utf-8", errors="replace")[:100])
                if match:
                    return datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00"), "timestamp.txt"
    if believe_files and file.changed and not file.by_student:
        return datetime.fromtimestamp(file.changed).astimezone(zone), "file"
    return None, ""


def _zoned(when: datetime, zone: tzinfo | None) -> datetime:
    return when if when.tzinfo else (when.replace(tzinfo=zone) if zone else when.astimezone())


def _where(file: File) -> str:
    return clean("/".join(file.parts), 3 * LONGEST)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
