"""The command that examines a folder, and how a text becomes tokens."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attnlib.transformer import partners
from attnlib.transformer.__main__ import main
from attnlib.transformer.texts import hidden, read_numbers, read_text

FOLDERS = Path(__file__).resolve().parent / "folders"


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run the command on a folder in an empty place; what it returned, said and complained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    (tmp_path / "numbers.txt").write_text("3, 1 4\n1 5 9 2 6 5")

    def call(folder, *arguments):
        code = main(["examine", str(folder), *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "albert"])
def test_a_page_and_a_table(run, tmp_path, name):
    code, said, _ = run(FOLDERS / name, "--tokens", "numbers.txt", "--mask-token", "16", "--csv", "heads.csv")
    assert code == 0
    assert "9 tokens" in said
    assert "Look at examination.html" in said
    page = (tmp_path / "examination.html").read_text(encoding="utf-8")
    assert f"<title>Examination of {name}</title>" in page
    assert "Cost of its ablation" in page
    with (tmp_path / "heads.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == {"gpt2": 4, "albert": 6}[name]
    assert ("exponent" in page) == (name == "albert")


@pytest.mark.slow
def test_films_under_noise(run, tmp_path, monkeypatch):
    for name, number in (("FILMS", 4), ("STEPS", 4), ("BEFORE", 1), ("LAST", 2)):
        monkeypatch.setattr(partners, name, number)
    code, _, _ = run(FOLDERS / "albert", "--tokens", "numbers.txt", "--no-ablation", "--noise", "0.1", "1")
    assert code == 0
    assert "Films under noise: a row for each size of it" in (tmp_path / "examination.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_is_left_out_is_said(run):
    code, said, _ = run(FOLDERS / "bert-bare", "--tokens", "numbers.txt", "--length", "5", "--out", "short.html")
    assert code == 0
    assert said.startswith("5 tokens, 2 readings of heads. No tokens were hidden, so that there is no loss and no ablation.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-folder", "--tokens", "numbers.txt"], "folder is no-folder, which is no folder"),
        ([FOLDERS / "gpt2", "--tokens", "nothing.txt"], "No such file"),
        (
            [FOLDERS / "albert", "--tokens", "numbers.txt", "--mask-token", "3", "--hide", "2"],
            "--hide is 2.0; expected a share",
        ),
        ([FOLDERS / "gpt2", "--text", "numbers.txt"], "--tokens FILE"),
        ([FOLDERS / "gpt2", "--tokens", "words.txt"], "the file of tokens has 'four'; expected whole numbers from 0 on"),
        (
            [FOLDERS / "gpt2", "--tokens", "numbers.txt", "--noise", "1"],
            "noises is (1.0,), and the stack has blocks of their own",
        ),
        ([FOLDERS / "gpt2", "--tokens", "large.txt"], "tokens has numbers from 3 to 99; expected 0 to 16"),
    ],
)
def test_one_sentence_where_something_is_wrong(run, tmp_path, arguments, sentence):
    (tmp_path / "words.txt").write_text("3 four 5")
    (tmp_path / "large.txt").write_text("3 99")
    code, _, complaint = run(*map(str, arguments))
    assert code == 2
    assert sentence in complaint
    assert complaint.count("\n") == 1


@pytest.mark.slow
def test_it_is_a_program_of_its_own(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "attnlib.transformer", "examine", "--help"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0
    assert "usage: python -m attnlib.transformer examine" in done.stdout


# Tokens


def test_numbers_of_tokens():
    assert read_numbers("[3, 1]\n4").tokens.tolist() == [3, 1, 4]
    with pytest.raises(ValueError, match="the file of tokens has 'nothing'"):
        read_numbers(" ")


def test_hidden_tokens():
    tokens = torch.arange(40)[None]
    shown, targets = hidden(tokens, 99, 0.25)
    places = (targets >= 0).nonzero()[:, 1]
    assert len(places) == round(38 / 4)
    assert (shown[0, places] == 99).all()
    assert (targets[0, places] == places).all()
    assert (shown == 99).sum() == len(places)
    assert {0, 39}.isdisjoint(places.tolist())
    assert (hidden(tokens, 99, 0.25)[0] == shown).all()
    assert [int((hidden(tokens[:, :n], 99, 0.01)[1] >= 0).sum()) for n in (2, 3)] == [0, 1]


def test_texts_by_the_files_of_a_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "spin", "##s", "head"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    found = read_text(tmp_path, "A head spins")
    assert [words[number] for number in found.tokens] == ["[CLS]", "a", "head", "spin", "##s", "[SEP]"]
    assert found.hides == 4
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    assert [words[number] for number in read_text(tmp_path, "A head").tokens] == ["[CLS]", "[UNK]", "head", "[SEP]"]
    (tmp_path / "vocab.txt").unlink()
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2, "Ġ": 3}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    found = read_text(tmp_path, "ab ba")
    assert (found.tokens.tolist(), found.hides) == ([2, 3, 1, 0], None)
    kept = tokenizers.Tokenizer(tokenizers.models.WordLevel({"spin": 7, "?": 0}, unk_token="?"))
    kept.save(str(tmp_path / "tokenizer.json"))
    assert read_text(tmp_path, "spin").tokens.tolist() == [7]
    shutil.rmtree(tmp_path)
    with pytest.raises(
        ValueError, match=re.escape("(tokenizer.json, vocab.txt, or vocab.json with merges.txt); give the numbers")
    ):
        read_text(tmp_path, "spin")


def test_without_the_package_the_numbers_are_asked_for(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"to read a text takes the package tokenizers: .* with --tokens FILE"):
        read_text(FOLDERS / "gpt2", "a text")
