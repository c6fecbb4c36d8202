"""Pictures: the digits and their folds, files in MNIST's format that the test writes, patches, the classifier, its training."""

import gzip
import re
import struct

import numpy as np
import pytest
import torch
from helpers.draw import close, normal
from torch import nn

from attnlib.attention import SoftmaxAttention
from attnlib.course.data import Images, digits, mnist, read_idx
from attnlib.course.models import PatchClassifier, patches, teach_labels
from attnlib.mean_field import Binary, MeanFieldAttention, naive_mean_field

CODES = {np.uint8: 8, np.int8: 9, np.int16: 11, np.int32: 12, np.float32: 13, np.float64: 14}


def idx(array: np.ndarray) -> bytes:
    """A file in the IDX format, written from its definition: two zeros, type, number of axes, sizes, numbers, big-endian."""
    head = bytes([0, 0, CODES[array.dtype.type], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_reads_every_type_of_idx_file(tmp_path, kind, packed):
    array = (np.random.default_rng(0).normal(size=(3, 4, 2)) * 50).astype(kind)
    content = idx(array)
    (tmp_path / "file").write_bytes(gzip.compress(content) if packed else content)
    found = read_idx(tmp_path / "file")
    assert found.dtype == torch.from_numpy(array).dtype
    assert np.array_equal(found.numpy(), array)
    found[0, 0, 0] = 1  # it may be written to


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "begins with b''"),
        (b"\x00\x00\x07\x01", "expected an IDX file"),
        (b"\x89PNG....", "expected an IDX file"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], "has 17 bytes; expected 18"),
        (idx(np.zeros((2, 3), np.int16)) + b"0", "has 25 bytes; expected 24"),
        (b"\x00\x00\x08\x03\x00\x00", "has 6 bytes"),
        (gzip.compress(b"what" * 9, mtime=0)[:-6], "is a broken gzip file"),
    ],
)
def test_refuses_other_files(tmp_path, content, complaint):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        read_idx(tmp_path / "file")


def test_refuses_what_is_no_file(unchecked, tmp_path):
    with pytest.raises(ValueError, match=r"path is .*, which is no file"):
        read_idx(tmp_path / "none")
    with pytest.raises(ValueError, match="path is a int; expected a path"):
        read_idx(3)


NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def small_mnist(folder, *, change="", packed=False):
    """Files as MNIST's, with 5 and 2 pictures of 8 x 6 pixels."""
    draw = np.random.default_rng(1)
    arrays = {}
    for name in NAMES:
        count = 5 if name.startswith("train") else 2
        shape = (count, 8, 6) if "images" in name else (count,)
        arrays[name] = draw.integers(0, 256 if "images" in name else 10, shape).astype(np.uint8)
        content = idx(arrays[name])
        spelled = name.replace("-idx", change) if change else name
        (folder / (spelled + (".gz" if packed else ""))).write_bytes(gzip.compress(content) if packed else content)
    return arrays


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("change", ["", ".idx"])
@pytest.mark.sweep(0.5)
def test_mnist_from_four_files(tmp_path, change, packed):
    arrays = small_mnist(tmp_path, change=change, packed=packed)
    for images, part in zip(mnist(str(tmp_path)), ("train", "t10k"), strict=True):
        assert images.pictures.dtype == torch.get_default_dtype()
        assert images.labels.dtype == torch.int64
        close(images.pictures.double() * 255, torch.tensor(arrays[f"{part}-images-idx3-ubyte"]).double(), atol=1e-4)
        assert images.labels.tolist() == arrays[f"{part}-labels-idx1-ubyte"].tolist()


def test_mnist_says_what_is_missing_or_does_not_fit(tmp_path):
    with pytest.raises(ValueError, match="expected a folder with train-images-idx3-ubyte"):
        mnist(tmp_path)
    small_mnist(tmp_path)
    (tmp_path / NAMES[3]).write_bytes(idx(np.zeros(3, np.uint8)))
    with pytest.raises(ValueError, match=re.escape("t10k of")):
        mnist(tmp_path)
    (tmp_path / NAMES[3]).unlink()
    with pytest.raises(ValueError, match="expected a folder with t10k-labels-idx1-ubyte"):
        mnist(tmp_path)
    small_mnist(tmp_path)
    (tmp_path / NAMES[0]).write_bytes(idx(np.zeros((5, 8, 6), np.float32)))
    with pytest.raises(ValueError, match=r"has pixels of torch\.float32; expected bytes"):
        mnist(tmp_path)


def test_the_same_code_learns_from_these_files(tmp_path):
    small_mnist(tmp_path)
    train, test = mnist(tmp_path)
    torch.manual_seed(0)
    model = PatchClassifier(SoftmaxAttention(4), image=(8, 6), patch=(4, 3))
    losses = teach_labels(model, train.pictures, train.labels, 40, learning_rate=0.05)
    assert losses[-1] < losses[0] / 2
    assert model(test.pictures).shape == (2, 10)


# Digits


@pytest.mark.slow
def test_digits_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: pip install -e .[book]")
    found, known = digits(), datasets.load_digits()
    assert len(found) == 1797
    assert found.pictures.dtype == torch.get_default_dtype()
    assert np.array_equal(found.pictures.double().numpy() * 16, known.images)
    assert found.labels.tolist() == known.target.tolist()


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_cover_every_picture_once(folds):
    images = Images(torch.arange(7.0)[:, None, None], torch.arange(7))
    tested = []
    for number in range(folds):
        learned, test = images.fold(number, folds)
        assert sorted(learned.labels.tolist() + test.labels.tolist()) == list(range(7))
        assert torch.equal(test.pictures[:, 0, 0].long(), test.labels)
        tested += test.labels.tolist()
    assert sorted(tested) == list(range(7))
    assert images.fold(0, folds)[1].labels.tolist() == images.fold(0, folds)[1].labels.tolist()
    assert tested != [label for number in range(folds, 2 * folds) for label in images.fold(number, folds)[1].labels.tolist()]


@pytest.mark.parametrize(
    ("number", "folds", "complaint"), [(-1, 5, "number is -1"), (0, 1, "folds is 1"), (0, 8, "folds is 8")]
)
def test_folds_refuse(number, folds, complaint):
    with pytest.raises(ValueError, match=complaint):
        Images(torch.zeros(7, 1, 1), torch.arange(7)).fold(number, folds)


# Patches and the classifier


def test_patches_against_a_loop():
    images = normal(2, 3, 6, 8)
    found = patches(images, (2, 4))
    assert found.shape == (2, 3, 6, 8)
    for row in range(3):
        for column in range(2):
            cut = images[..., 2 * row : 2 * row + 2, 4 * column : 4 * column + 4]
            close(found[..., 2 * row + column, :], cut.flatten(-2))


@pytest.mark.parametrize(
    ("shape", "size", "complaint"),
    [
        ((8, 8), (3, 4), "images has shape (8, 8); expected [*batch, height, width], multiples of 3 and 4"),
        ((8,), (2, 2), "images has shape (8,)"),
        ((8, 8), (0, 2), "size is 0"),
        ((8, 8), (2, 2, 2), "size is (2, 2, 2); expected a height and a width"),
        ((8, 8), 2, "size is 2"),
    ],
)
def test_patches_refuse(unchecked, shape, size, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        patches(torch.zeros(shape), size)


def test_the_classifier_reads_the_response_of_the_first_spin():
    """By the public solver of page 4a: fields of the patches and of the class, and a linear map of one magnetisation."""
    torch.manual_seed(0)
    mixer = MeanFieldAttention(2, sites=5, bare=True, beta=1.0, prior=Binary(), onsager="none")
    model, images = PatchClassifier(mixer, patch=(4, 4)).double(), normal(3, 8, 8)
    fields = model.fields.expand(3, -1, -1).clone()
    for place, (row, column) in enumerate([(0, 0), (0, 4), (4, 0), (4, 4)]):
        fields[:, 1 + place] += images[:, row : row + 4, column : column + 4].flatten(1) @ model.embed.weight.T
    close(model.tokens(images), fields)
    J = mixer.explain(fields).J[0].permute(0, 2, 1, 3).reshape(10, 10)
    m = naive_mean_field(J.expand(3, -1, -1), fields.flatten(1)).m
    close(model(images), m[:, :2] @ model.readout.weight.T + model.readout.bias, atol=1e-9)


def test_the_classifier_takes_any_module_with_a_width_and_refuses_others():
    class Mean(nn.Module):
        dim = 3

        def forward(self, x):
            return x.mean(-2, keepdim=True).expand_as(x)

    assert PatchClassifier(Mean(), patch=(8, 8), classes=2)(torch.zeros(8, 8)).shape == (2,)
    with pytest.raises(ValueError, match="mixer is a Linear; expected a module with an attribute dim"):
        PatchClassifier(nn.Linear(3, 3))
    with pytest.raises(ValueError, match=re.escape("patch is (3, 4); expected one that tiles the image, (8, 8)")):
        PatchClassifier(Mean(), patch=(3, 4))
    with pytest.raises(ValueError, match=re.escape("images has shape (8, 4); expected [*batch, 8, 8]")):
        PatchClassifier(Mean())(torch.zeros(8, 4))
    with pytest.raises(ValueError, match="images has non-finite entries"):
        PatchClassifier(Mean())(torch.full((8, 8), torch.nan))


# Training


def test_training_goes_over_the_data_once_a_pass_in_orders_of_its_own():
    inputs, seen = torch.arange(6.0)[:, None], []

    class Watching(nn.Linear):
        def forward(self, rows):
            seen.append(rows[:, 0].tolist())
            return super().forward(rows)

    teach_labels(
        Watching(1, 2), inputs, torch.zeros(6, dtype=torch.long), 7, batch=2, generator=torch.Generator().manual_seed(0)
    )
    first, second = (sorted(x for rows in seen[start : start + 3] for x in rows) for start in (0, 3))
    assert first == second == inputs[:, 0].tolist()
    assert seen[:3] != seen[3:6]


@pytest.mark.parametrize(
    ("warm_up", "rates"),
    [
        (
            None,
            [1, *(0.5 * (1 + np.cos(np.pi * step / 3)) for step in range(3))],
        ),  # a twentieth of four steps is rounded up to 1
        (0, [0.5 * (1 + np.cos(np.pi * step / 4)) for step in range(4)]),
        (3, [1 / 3, 2 / 3, 1, 1]),
        (4, [1 / 4, 2 / 4, 3 / 4, 1]),
    ],
)
def test_training_is_adam_with_a_warm_up_and_a_cosine(warm_up, rates):
    """One batch of everything, so that the order says nothing; the update by hand."""
    inputs, labels = normal(4, 3, dtype=torch.float32), torch.tensor([0, 1, 1, 0])
    torch.manual_seed(0)
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    other.load_state_dict(model.state_dict())
    losses = teach_labels(model, inputs, labels, 4, learning_rate=0.1, clip=100.0, warm_up=warm_up)
    optimiser = torch.optim.Adam(other.parameters(), lr=0.1)
    for wanted, rate in zip(losses, rates, strict=True):
        optimiser.param_groups[0]["lr"] = 0.1 * rate
        loss = nn.functional.cross_entropy(other(inputs), labels)
        assert loss.item() == pytest.approx(wanted, abs=1e-6)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    close(model.weight.detach(), other.weight.detach(), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"inputs": torch.zeros(3, 2)}, "inputs has shape (3, 2) and labels (4,)"),
        ({"inputs": torch.zeros(0, 2), "labels": torch.zeros(0, dtype=torch.long)}, "expected [samples, *shape]"),
        ({"labels": torch.zeros(4)}, "labels has dtype torch.float32; expected whole numbers"),
        ({"labels": torch.tensor([0, 1, 2, 3])}, "labels has 0 to 3; expected classes from 0 to 2"),
        ({"labels": torch.tensor([0, -1, 2, 1])}, "labels has -1 to 2"),
        ({"model": 3}, "model is a int; expected a module"),
        (
            {"model": nn.Sequential(nn.Linear(2, 3), nn.Flatten(0))},
            "model returned shape (12,); expected logits [batch, classes]",
        ),
        ({"model": nn.Flatten()}, "model has no parameters; expected something to train"),
        ({"steps": 0}, "steps is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"clip": 0}, "clip is 0"),
        ({"warm_up": 3}, "warm_up is 3; expected an integer of at least 0, at most 2"),
        ({"warm_up": -1}, "warm_up is -1"),
        ({"warm_up": 0.5}, "warm_up is 0.5"),
        ({"generator": 3}, "generator is 3"),
        ({"watch": 3}, "watch is a int"),
        ({"progress": 3}, "progress is a int"),
    ],
)
def test_training_refuses(unchecked, change, complaint):
    good = {"model": nn.Linear(2, 3), "inputs": torch.zeros(4, 2), "labels": torch.tensor([0, 1, 2, 0]), "steps": 2}
    with pytest.raises(ValueError, match=re.escape(complaint)):
        teach_labels(**good | change)
