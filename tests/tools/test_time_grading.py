"""The class whose grading is timed: who hands in what."""

import json

import build_assignments
import pytest
from classroom.master import Master
from time_grading import hand_ins


@pytest.mark.slow
def test_three_in_five_have_solved_all_one_nothing_and_one_has_an_error(tmp_path):
    master = Master.read(next(path for path in build_assignments.masters() if path.parent.name.startswith("1-")))
    hand_ins(master, 10, tmp_path)
    sources = [
        ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
        for path in sorted(tmp_path.iterdir())
    ]
    assert len(sources) == 10
    solved, empty, spoiled = sources[0], sources[3], sources[4]
    assert [sources[place] == solved for place in (1, 2, 5, 6, 7)] == [True] * 5
    assert sources[8] == empty != solved
    first, second = (question.answer.__name__ for question in master.automatic[:2])
    assert spoiled[:-1] == solved
    assert spoiled[-1].startswith(f"def {first}(")
    assert sources[9][-1].startswith(f"def {second}(")
