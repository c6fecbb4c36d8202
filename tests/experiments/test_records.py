"""What the records of long measurements have in common."""

import json

import pytest
import records


@pytest.fixture
def target(tmp_path):
    return tmp_path / "new folder" / "record.json"


def test_a_record_is_found_again_with_the_same_settings_and_versions(target):
    by = records.versions("torch")
    assert set(by) == {"python", "torch"}
    assert records.earlier(target, {"n": 1}) == records.earlier(None, {"n": 1}) == {}
    result = records.head("some", "Some numbers", ["--quick"], True, by) | {"settings": {"n": 1}, "runs": [1, 2]}
    assert result["command"] == "python experiments/some.py --quick"
    records.write(result, target)
    assert records.earlier(target, {"n": 1}) == records.earlier(target, {"n": 1}, by) == result
    assert records.earlier(target, {"n": 2}) == {}
    assert records.earlier(target, {"n": 1}, by | {"torch": "0.1"}) == {}


def test_what_cannot_be_written_leaves_the_file_as_it_was(target):
    records.write({"runs": [1]}, target)
    with pytest.raises(TypeError):
        records.write({"runs": [{1, 2}]}, target)
    assert json.loads(target.read_text(encoding="utf-8")) == {"runs": [1]}


def test_nothing_is_written_where_no_place_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records.write({"runs": [1]}, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--output", "--runs", "--keep", "--cache", "--weights"])
@pytest.mark.parametrize("given", [["{}", "there/some"], ["{}=there/some"]])
def test_the_command_names_no_place_of_one_machine(option, given):
    place = [word.format(option) for word in given]
    asked = records.head("some", "Some numbers", ["--only", "a", *place, "--steps", "3"], False, {})["command"]
    assert asked == "python experiments/some.py --only a --steps 3"
