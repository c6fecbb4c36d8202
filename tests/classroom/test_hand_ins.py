"""Collecting: every entry of an inbox has a row, by a stated rule, whatever it is and whoever has named it."""

import csv
import io
import json
import os
import zipfile
from datetime import UTC, datetime, timedelta, timezone

import pytest
from classroom.files import Private
from classroom.hand_ins import collected
from classroom.names import read
from classroom.roster import Person, Roster, squeezed
from classroom.roster import read as read_roster
from helpers.small_class import grades, notebook, pack

HERE = timezone(timedelta(hours=1))


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def rows(inbox, tmp_path):
    """Collect an inbox: submissions."""

    def run(place=inbox, **settings):
        private = tmp_path / "private"
        private.mkdir(exist_ok=True)
        made, _ = collected(place, "0-small", Private(private), **settings)
        assert len({one.key for one in made}) == len(made)
        return made

    return run


@pytest.fixture
def collect(rows):
    """Collect an inbox: submissions by student."""
    return lambda *place, **settings: {one.student: one for one in rows(*place, **settings)}


def put(path, text="{}", at=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if at is not None:
        os.utime(path, (at, at))


def packed(files):
    """A zip: names and contents."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return content.getvalue()


# Every entry


def test_every_entry_has_a_row_with_a_status_and_a_reason(collect, inbox):
    """Finding 8: seven of 26 hand-ins had neither row nor message."""
    for name in ("a.ipynb", "b.IPYNB", "c.ipynb.txt", "d/x.ipynb", "e/one.ipynb", "e/two.ipynb", "g.pdf", "h/notes.txt"):
        put(inbox / name)
    (inbox / "f").mkdir()
    (inbox / "i.zip").write_bytes(packed({"mine/0-small.ipynb": "{}"}))
    (inbox / "j.zip").write_bytes(b"PK\x03\x04 broken")
    (inbox / "k.ipynb").symlink_to(inbox / "a.ipynb")
    (inbox / "l").symlink_to(inbox / "d")
    os.mkfifo(inbox / "m.ipynb")
    found = collect()
    graded = {name for name, one in found.items() if not one.status}
    assert graded == {"a", "b", "c", "d", "e", "i"}
    reasons = {name: one.notes[-1] for name, one in found.items() if one.status == "not a notebook"}
    assert reasons == {
        "f": "the folder is empty",
        "g.pdf": "it is not a notebook",
        "h": "it is not a notebook",
        "j": "the zip cannot be opened: BadZipFile",
        "k": "it is a link, and links are not followed",
        "l": "it is a link, and links are not followed",
        "m": "it is neither a file nor a folder, or lies too deep",
    }
    assert found["i"].path.read_text(encoding="utf-8") == "{}"
    assert found["e"].entry == "e/two.ipynb"
    assert found["e"].passed_over == ("e/one.ipynb",)


def test_the_same_from_a_zip(collect, inbox, tmp_path):
    inner = packed({"0-small.ipynb": "inner", "0-small.pdf": "x"})
    content = packed(
        {"a.ipynb": "a", "b/0-small (2).ipynb": "2", "b/0-small (10).ipynb": "10", "c/": "", "d.zip": inner, "e.txt": ""}
    )
    (tmp_path / "all.zip").write_bytes(content)
    found = collect(tmp_path / "all.zip")
    assert {name: one.status for name, one in found.items()} == {
        "a": "",
        "b": "",
        "c": "not a notebook",
        "d": "",
        "e.txt": "not a notebook",
    }
    assert [found[name].path.read_text(encoding="utf-8") for name in ("a", "b", "d")] == ["a", "10", "inner"]
    assert found["d"].passed_over == ("d.zip/0-small.pdf (it is not a notebook)",)


def test_what_systems_leave_is_nobody_and_is_said(collect, inbox, tmp_path):
    put(inbox / ".DS_Store")
    put(inbox / "a" / "__MACOSX" / "._x.ipynb")
    put(inbox / "a" / ".ipynb_checkpoints" / "x-checkpoint.ipynb")
    put(inbox / "a" / "x.ipynb")
    private = tmp_path / "private"
    private.mkdir()
    made, said = collected(inbox, "0-small", Private(private))
    assert [(one.student, one.entry, one.passed_over) for one in made] == [("a", "a/x.ipynb", ())]
    assert said == [".DS_Store was left out: a system made it"]


def test_what_is_neither_folder_nor_zip_is_refused(tmp_path):
    put(tmp_path / "x.ipynb")
    with pytest.raises(ValueError, match="a folder or a zip"):
        collected(tmp_path / "x.ipynb", "0-small", Private(tmp_path))


# A zip of a stranger's making


def test_no_path_of_a_zip_leads_outside(collect, inbox, tmp_path):
    files = {"../../out.ipynb": "x", "/tmp/out.ipynb": "x", "C:\\out.ipynb": "x", "..\\out.ipynb": "x"}
    (inbox / "a.zip").write_bytes(packed(files))
    one = collect()["a"]
    assert one.status == "not a notebook"
    assert one.notes == ("its path leads out of the zip",)
    assert not list(tmp_path.rglob("out.ipynb"))


def test_no_link_and_no_zip_in_a_zip_is_opened(collect, inbox):
    link = zipfile.ZipInfo("0-small.ipynb")
    link.external_attr = (0o120777) << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr(link, "/etc/passwd")
        made.writestr("again.zip", packed({"0-small.ipynb": "{}"}))
    (inbox / "a.zip").write_bytes(content.getvalue())
    assert collect()["a"].notes == ("it is a link, and links are not followed", "a zip in a zip is not opened")


def test_a_zip_may_neither_be_large_nor_hold_much(inbox, tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("0-small.ipynb", bytes(3_000_000))
    (inbox / "bomb.zip").write_bytes(content.getvalue())
    (inbox / "many.zip").write_bytes(packed({f"{n}.ipynb": "" for n in range(9)}))
    private = tmp_path / "private"
    private.mkdir()
    made, _ = collected(inbox, "0-small", Private(private, files=5, one=2**20))
    assert [one.notes for one in made] == [
        ("it is too large to be unpacked",),
        ("it holds 9 files; 5 are read at most",),
    ]
    assert sum(path.stat().st_size for path in private.iterdir()) == 0


@pytest.mark.parametrize("spoil", ["encrypted", "cut", "checksum", "a name of dots", "no date", "method"])
def test_a_spoilt_zip_is_a_row(rows, inbox, spoil):
    info = zipfile.ZipInfo(
        "./" if spoil == "a name of dots" else "0-small.ipynb",
        (1980, 0, 0, 0, 0, 0) if spoil == "no date" else (1980, 1, 1, 0, 0, 0),
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        target.writestr(info, "{" + "x" * 50)
    content = bytearray(made.getvalue())
    entry = content.index(b"PK\x01\x02")
    if spoil == "encrypted":
        content[6], content[entry + 8] = 1, 1
    elif spoil == "cut":
        content = content[:-30]
    elif spoil == "checksum":
        content[45] ^= 1
    elif spoil == "method":
        content[8], content[entry + 10] = 99, 99
    (inbox / "a.zip").write_bytes(content)
    (one,) = rows()
    assert (one.status == "") == (spoil == "no date")
    assert one.notes or not one.status


def test_names_in_a_zip_do_not_reach_the_disk(collect, inbox, tmp_path):
    (inbox / "a.zip").write_bytes(packed({f"{'x' * 300}/{'0-small' * 40}.ipynb": "long", "\x1b[31m.ipynb": "red"}))
    one = collect()["a"]
    assert one.path.read_text(encoding="utf-8") == "long"
    assert one.path.parent == tmp_path / "private"
    assert "\x1b" not in "".join(one.passed_over)


# Which of several counts


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (["0-small.ipynb", "0-small_v2.ipynb"], "0-small_v2.ipynb"),
        (["0-small.ipynb", "0-small (1).ipynb"], "0-small (1).ipynb"),
        (["0-small (10).ipynb", "0-small (2).ipynb"], "0-small (10).ipynb"),
        (["scratch.ipynb", "0-small.ipynb"], "0-small.ipynb"),
        (["Copy of 0-small.ipynb", "0-small.ipynb"], "Copy of 0-small.ipynb"),
        (["zzz.ipynb", "final/aaa.ipynb"], "zzz.ipynb"),
    ],
)
def test_of_equal_times_the_name_counts_that_comes_last(collect, inbox, names, counts):
    for name in names:
        put(inbox / "a" / name, at=1e9)
    one = collect()["a"]
    assert one.path == inbox / "a" / counts
    assert one.passed_over == tuple(f"a/{name}" for name in sorted(names) if name != counts)


def test_the_one_that_was_changed_last_counts(collect, inbox):
    put(inbox / "a" / "0-small_v2.ipynb", at=1e9)
    put(inbox / "a" / "0-small.ipynb", at=1e9 + 10)
    put(inbox / "b" / "0-small_v2.ipynb", at=1e9)
    put(inbox / "b" / "0-small.ipynb", at=1e9 + 1)
    found = collect()
    assert found["a"].path.name == "0-small.ipynb"
    assert found["b"].path.name == "0-small_v2.ipynb"  # a second is what copying a folder takes


# Names that platforms make


def test_names_of_canvas(collect, inbox):
    for name in (
        "lovelaceada_4711_90210_0-small.ipynb",
        "lovelaceada_4711_90310_0-small-1.ipynb",
        "noetheremmy_LATE_4712_90211_0-small-2.ipynb",
        "noetheremmy_LATE_4712_90211_0-small-10.ipynb",
        "curie_4713_text.html",
        "anon_aB1x2_90215_0-small.ipynb",
    ):
        put(inbox / name, name)
    found = collect()
    assert set(found) == {"lovelaceada", "noetheremmy", "curie", "anon_aB1x2"}
    assert found["lovelaceada"].entry.endswith("0-small-1.ipynb")
    assert found["lovelaceada"].notes == ("2 hand-ins of one student",)
    assert found["noetheremmy"].entry.endswith("0-small-10.ipynb")
    assert "the platform says that it was late, and not by how much" in found["noetheremmy"].notes
    assert found["curie"].status == "not a notebook"
    assert [found[name].key for name in ("lovelaceada", "noetheremmy", "curie")] == ["4711", "4712", "4713"]


def test_names_of_moodle(collect, inbox):
    put(inbox / "Ada Lovelace_101_assignsubmission_file_" / "0-small.ipynb")
    put(inbox / "Ada Lovelace_101_assignsubmission_onlinetext_" / "onlinetext.html")
    put(inbox / "Emmy Noether_102_assignsubmission_file_0-small.ipynb")
    put(inbox / "Marie Curie_103_assignsubmission_onlinetext_" / "onlinetext.html")
    found = collect()
    assert {name: (one.key, one.status) for name, one in found.items()} == {
        "Ada Lovelace": ("101", ""),
        "Emmy Noether": ("102", ""),
        "Marie Curie": ("103", "not a notebook"),
    }
    assert found["Ada Lovelace"].passed_over == ("Ada Lovelace_101_assignsubmission_onlinetext_/onlinetext.html",)


def test_names_of_blackboard_say_the_time(collect, inbox):
    put(inbox / "Softmax_ada_attempt_2026-12-01-23-50-00_0-small.ipynb")
    put(inbox / "Softmax_ada_attempt_2026-12-02-00-10-00_a first try.ipynb")
    put(inbox / "Softmax_ada_attempt_2026-12-02-00-10-00.txt")
    one = collect(zone=HERE)["ada"]
    assert one.when == datetime(2026, 12, 1, 23, 50, tzinfo=HERE)  # the one that is named like the assignment
    assert one.clock == "platform"
    assert len(one.passed_over) == 2


def test_tree_of_nbgrader(collect, inbox):
    put(inbox / "ada" / "0-small" / "0-small.ipynb")
    put(inbox / "ada" / "0-small" / "timestamp.txt", "2026-12-01 22:50:00.123456 UTC\n")
    put(inbox / "ada" / "1-softmax" / "1-softmax.ipynb", at=2e9)
    put(inbox / "ada" / "1-softmax" / "timestamp.txt", "2026-12-09 22:50:00 UTC")
    put(inbox / "emmy" / "1-softmax" / "1-softmax.ipynb")
    put(inbox / "emmy" / "1-softmax" / "timestamp.txt", "2026-12-09 22:50:00 UTC")
    found = collect()
    assert found["ada"].entry == "ada/0-small/0-small.ipynb"
    assert found["ada"].when == datetime(2026, 12, 1, 22, 50, tzinfo=UTC)
    assert found["emmy"].status == "not a notebook"
    assert "handed in for other assignments: 1-softmax" in found["emmy"].notes


def test_a_time_that_a_student_could_have_written_is_not_believed(collect, inbox):
    stamped = {"0-small/0-small.ipynb": "{}", "0-small/timestamp.txt": "2020-01-01 00:00:00 UTC"}
    (inbox / "ada.zip").write_bytes(packed(stamped))
    put(inbox / "Emmy Noether_102_assignsubmission_file_" / "0-small" / "timestamp.txt", "2020-01-01 00:00:00 UTC")
    put(inbox / "Emmy Noether_102_assignsubmission_file_" / "0-small" / "0-small.ipynb")
    put(inbox / "marie.ipynb", at=1e9)
    assert [one.when for one in collect().values()] == [None] * 3
    believed = collect(believe_files=True)
    assert believed["ada"].when is None
    assert believed["marie"].when.timestamp() == 1e9
    assert believed["marie"].clock == "file"


def test_a_name_that_is_anothers_number_is_another_student(rows, inbox):
    put(inbox / "4711.ipynb")
    put(inbox / "lovelaceada_4711_1_0-small.ipynb")
    put(inbox / "Ada Lovelace_4711_assignsubmission_file_" / "x.ipynb")
    assert [one.student for one in rows()] == ["4711", "Ada Lovelace", "lovelaceada"]


def test_names_that_imitate():
    assert read("x_attempt_2026-99-99-99-99-99_y.ipynb").when is None
    assert read("a_" + "9" * 200 + "_" + "9" * 30 + "_b.ipynb").attempt < 10**18
    assert read("\udcfc" * 200 + ".ipynb").student == "\ufffd" * 79 + "…"
    assert read(".ipynb").student == "_"


# A roster


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Small (77)
"    Points Possible",,,,,7
"Lovelace, Ada",4711,s1,ada,A,
"Noether, Emmy",4712,s2,emmy,A,
"Müller, Jo",4713,s3,jo,B,
"Müller, Jo",4714,s4,jom,B,
"""
MOODLE = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (submission),Last modified (grade),Feedback comments
Participant 101,Ada Lovelace,ada@uni.example,Submitted,,7,"Tuesday, 1 December 2026, 11:50 PM",-,
Participant 102,Emmy Noether,emmy@uni.example,No submission,,7,-,-,
"""


@pytest.fixture
def roster(tmp_path):
    def made(text, encoding="utf-8"):
        path = tmp_path / "roster.csv"
        path.write_bytes(text.encode(encoding))
        return read_roster(path)

    return made


def test_roster_of_canvas(rows, inbox, roster):
    people = roster(CANVAS)
    assert [(person.name, person.id, person.login) for person in people.people][:2] == [
        ("Lovelace, Ada", "4711", "ada"),
        ("Noether, Emmy", "4712", "emmy"),
    ]
    put(inbox / "lovelaceada_4711_1_0-small.ipynb")
    put(inbox / "EMMY.ipynb")
    put(inbox / "Emmy Noether" / "x.ipynb")
    put(inbox / "mllerjo_4714_2_0-small.ipynb")
    put(inbox / "Jo Müller.ipynb")
    put(inbox / "stranger.ipynb")
    found = {one.student + one.key: one for one in rows(roster=people)}
    assert found["Lovelace, Ada4711"].status == ""
    assert found["Noether, Emmy4712"].notes == ("2 hand-ins of one student",)
    assert found["Müller, Jo4713"].status == "nothing handed in"
    assert found["Müller, Jo4714"].entry == "mllerjo_4714_2_0-small.ipynb"
    assert found["Jo MüllerJo Müller"].notes == ("the name Jo Müller fits 2 people on the roster: Müller, Jo; Müller, Jo",)
    assert found["strangerstranger"].notes == ("not on the roster",)
    assert len(found) == 6


def test_roster_of_moodle_says_the_time(collect, inbox, roster):
    put(inbox / "Ada Lovelace_101_assignsubmission_file_" / "0-small.ipynb")
    found = collect(roster=roster(MOODLE), zone=HERE)
    assert found["Ada Lovelace"].when == datetime(2026, 12, 1, 23, 50, tzinfo=HERE)
    assert found["Ada Lovelace"].clock == "roster"
    assert found["Emmy Noether"].status == "nothing handed in"


def test_a_number_and_a_name_of_two_people_fit_nobody():
    people = Roster([Person("Ada Lovelace", id="1"), Person("Emmy Noether", id="2")])
    person, why = people.find(read("noetheremmy_1_5_x.ipynb"))
    assert person is None
    assert why == "the number 1 is that of Ada Lovelace, the name that of Emmy Noether"
    assert people.find(read("renamed_1_5_x.ipynb"))[0] == people.people[0]
    assert people.find(read("noetheremmy_9_5_x.ipynb"))[0] == people.people[1]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id;name;email\n1;Zoë;z@x.org\n", "cp1252"),
        ("ID\tName\n1\tZoë\n", "utf-16"),
        ("First name,Last name,ID number,Email address\nZoë,,1,z@x.org\n", "utf-8-sig"),
    ],
)
def test_rosters_of_spreadsheets(roster, text, encoding):
    (person,) = roster(text, encoding).people
    assert (person.name, person.key) == ("Zoë", "1")


def test_a_roster_that_names_nobody_is_refused(roster):
    with pytest.raises(ValueError, match="expected one that is called name"):
        roster("points,total\n1,2\n")
    with pytest.raises(ValueError, match="empty"):
        roster("")
    assert roster("name,id\nA,1\nB,1\n").troubles == ["1 is on the roster twice"]
    assert roster("name,handed in\nA,soon\n").troubles == ["A: the time 'soon' cannot be read"]


def test_names_are_compared_without_case_and_layout():
    assert squeezed("Müller-Lüdenscheidt, Jo") == squeezed("MÜLLER Lüdenscheidt Jo")
    assert squeezed("Muller") != squeezed("Müller")  # no guess


# The whole command


def test_twenty_six_hand_ins_have_twenty_six_rows(inbox, tmp_path, monkeypatch, capsys):
    """Finding 8, through the command."""
    for place in range(19):
        put(inbox / f"s{place}.ipynb", notebook(2, 3))
    put(inbox / "t0.ipynb.txt", notebook(2, 3))
    put(inbox / "t1.IPYNB", notebook(2, 3))
    (inbox / "t2").mkdir()
    (inbox / "t3.zip").write_bytes(packed({"0-small.ipynb": notebook(2, 3)}))
    (inbox / "t4.ipynb").symlink_to(inbox / "s1.ipynb")
    put(inbox / "t5" / "0-small.ipynb", notebook(0, 0), at=1e9)
    put(inbox / "t5" / "0-small_v2.ipynb", notebook(2, 3), at=1e9)
    put(inbox / "t6.pdf")
    assert grades(monkeypatch, pack(tmp_path), inbox, tmp_path / "out", "--seed", 1) == 0
    with (tmp_path / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert len(rows) == 26
    assert [rows[name]["total"] for name in ("s0", "t0", "t1", "t2", "t3", "t4", "t5")] == ["5", "5", "5", "0", "5", "0", "5"]
    assert rows["t5"]["notes"] == "passed over: t5/0-small.ipynb"
    assert json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["graded"] == 23
