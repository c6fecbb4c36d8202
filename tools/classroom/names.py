"""What the name of a hand-in says: whose it is, as platforms write it, and which of two names comes later as people count."""

import re
from dataclasses import dataclass
from datetime import datetime

LONGEST = 80
"""Letters of a name that are kept."""
NOTEBOOK = re.compile(r"\.ipynb(?:\.txt|\.json)?$", re.IGNORECASE)
"""How the name of a notebook ends. Browsers and mail programs add ``.txt`` and ``.json``."""
_CANVAS = re.compile(r"^(?P<name>\w+?)(?P<late>_LATE)?_(?P<id>\d+)_(?:(?P<attempt>\d+)_(?P<file>.+)|(?:text|link)\.html)$")
_ANONYMOUS = re.compile(r"^(?P<late>LATE_)?(?P<name>anon_\w+?)_(?P<attempt>\d+)_(?P<file>.+)$")
_MOODLE = re.compile(r"^(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?$")
_BLACKBOARD = re.compile(r"^.+?_(?P<login>[^_]+)_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)$")


@dataclass(frozen=True)
class Named:
    """What a name says. What it does not say is empty.

    Args:
        student: the name or whatever stands for it, at most :data:`LONGEST` letters.
        platform: which platform has made the name, empty where none has.
        id: the platform's number for the student.
        login: the name with which the student logs in.
        file: what the student called the file.
        attempt: the platform's number of the file, which grows with time.
        when: the time of hand-in, by the platform's clock.
        late: whether the platform says that it was late.
    """

    student: str
    platform: str = ""
    id: str = ""
    login: str = ""
    file: str = ""
    attempt: int = 0
    when: datetime | None = None
    late: bool = False


def clean(text: str, longest: int = 1000) -> str:
    """A text that can be written in UTF-8: no half characters, no control characters but new lines and tabs, not too long.

    >>> clean("M\\udcfcller \\x1b[31m")
    'M\\ufffdller \\ufffd[31m'
    >>> clean("abcdef", 4)
    'abc…'
    """
    text = re.sub("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\uffff]", "\ufffd", text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def read(name: str, folder: bool = False) -> Named:
    """Read the name of a file or a folder, as Canvas, Moodle or Blackboard make it, or as a teacher does.

    >>> canvas = read("lovelaceada_LATE_4711_90210_1-softmax-2.ipynb")
    >>> canvas.student, canvas.id, canvas.late, canvas.attempt, canvas.file
    ('lovelaceada', '4711', True, 90210, '1-softmax-2.ipynb')
    >>> read("Ada Lovelace_4711_assignsubmission_file_", folder=True).id
    '4711'
    >>> read("ada.ipynb.txt").student, read("ada.b", folder=True).student
    ('ada', 'ada.b')
    """
    readers = {"moodle": _MOODLE, "blackboard": _BLACKBOARD, "canvas": _CANVAS, "anonymous": _ANONYMOUS}
    if folder:
        readers = {"moodle": _MOODLE}
    for platform, reader in readers.items():
        if match := reader.match(name):
            said = {key: value or "" for key, value in match.groupdict().items()}
            when = datetime.strptime(said["when"], "%Y-%m-%d-%H-%M-%S") if _real(said.get("when", "")) else None
            student = clean(said.get("name") or said.get("login") or name, LONGEST)
            return Named(
                student,
                "canvas" if platform == "anonymous" else platform,
                said.get("id", ""),
                said.get("login", ""),
                clean(said.get("file", "")),
                int(said.get("attempt", "0")[:18] or 0),
                when,
                bool(said.get("late")),
            )
    plain = name if folder else re.sub(r"\.zip$", "", NOTEBOOK.sub("", name), flags=re.IGNORECASE)
    return Named(clean(plain, LONGEST) or "_", file="" if folder else clean(name))


def _real(text: str) -> bool:
    """Whether that is a time that there was: platforms' names can be imitated."""
    try:
        return bool(datetime.strptime(text, "%Y-%m-%d-%H-%M-%S"))
    except ValueError:
        return False


def counted(name: str) -> tuple[tuple[int, str, int, str], ...]:
    """A key that sorts names as people count: ``a (2)`` before ``a (10)``, ``a`` before ``a_v2``, case aside.

    >>> sorted(["a_v2.ipynb", "a (10).ipynb", "a (2).ipynb", "a.ipynb"], key=counted)
    ['a.ipynb', 'a (2).ipynb', 'a (10).ipynb', 'a_v2.ipynb']
    """
    parts = re.findall(r"([0-9]+)|([^0-9]+)", NOTEBOOK.sub("", name).casefold())
    return tuple((1 if text else 0, text, len(digits.lstrip("0")), digits.lstrip("0")) for digits, text in parts)
