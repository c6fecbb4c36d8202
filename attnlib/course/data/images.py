"""Pictures with labels: the 8 x 8 digits that come with scikit-learn, and files in MNIST's format that you have."""

import gzip
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib._core.checks import check_count
from attnlib._core.extras import extra

_KINDS = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
"""The types of an IDX file, by the third byte of its first four."""


@dataclass(frozen=True)
class Images:
    """Pictures ``[n, height, width]`` with pixels between 0 and 1, and their labels ``[n]``.

    >>> seen = Images(torch.zeros(3, 2, 2), torch.tensor([7, 1, 7]))
    >>> len(seen), seen.labels
    (3, tensor([7, 1, 7]))
    """

    pictures: Float[Tensor, "n height width"]
    labels: Int[Tensor, "n"]

    def __len__(self) -> int:
        return len(self.labels)

    def fold(self, number: int, folds: int = 5) -> tuple["Images", "Images"]:
        """Split for cross-validation: what to learn from, and every ``folds``-th part of a fixed shuffle to test on.

        The parts of numbers 0, 1, ..., ``folds - 1`` cover every picture once, and each number above them begins another
        shuffle. Shapes are those of the class. Raises ValueError on a negative number, fewer than two folds, or more folds than
        pictures.

        >>> pictures = Images(torch.rand(10, 2, 2), torch.arange(10))
        >>> sorted(label for number in range(5) for label in pictures.fold(number)[1].labels.tolist())
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        folds = check_count("folds", folds, least=2, most=len(self))
        again, part = divmod(check_count("number", number, least=0), folds)
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(again))
        tested = torch.arange(len(self)) % folds == part
        learned = (order[~tested], order[tested])
        one, other = (Images(self.pictures[chosen], self.labels[chosen]) for chosen in learned)
        return one, other


def digits() -> Images:
    """The 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn, which must be installed.

    Takes nothing, so there is no ValueError to raise. Source: Alpaydin and Kaynak 1998.

    >>> found = digits()
    >>> found.pictures.shape, found.pictures.max(), found.labels[:5]
    (torch.Size([1797, 8, 8]), tensor(1.), tensor([0, 1, 2, 3, 4]))
    """
    with extra("attnlib.course.data.digits"):
        from sklearn.datasets import load_digits
    found: Any = load_digits()
    pictures = torch.tensor(found.images / 16, dtype=torch.get_default_dtype())
    return Images(pictures, torch.tensor(found.target, dtype=torch.int64))


def read_idx(path: str | Path) -> Tensor:
    """Read a file in the IDX format of MNIST, also one packed by gzip, as a tensor of the type that it names.

    Shapes are those of the file: ``[n, height, width]`` for MNIST's pictures, ``[n]`` for their labels. Raises ValueError on a
    file that is not there or that is none: another first word, a type that does not exist, too few or too many bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     read_idx(Path(folder, "labels"))
    tensor([7, 2, 1], dtype=torch.uint8)
    """
    path = _path("path", path)
    if not path.is_file():
        raise ValueError(f"path is {path}, which is no file; expected one in the IDX format")
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise ValueError(f"{path} is a broken gzip file: {error}") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _KINDS:
        raise ValueError(f"{path} begins with {content[:4]!r}; expected an IDX file: two zeros, a type, a number of axes")
    kind, axes = np.dtype(_KINDS[content[2]]), content[3]
    begin = 4 + 4 * axes
    shape = struct.unpack(f">{axes}I", content[4:begin]) if len(content) >= begin else ()
    wanted = begin + kind.itemsize * int(np.prod(shape, dtype=object))
    if len(content) < begin or len(content) != wanted:
        raise ValueError(f"{path} has {len(content)} bytes; expected {wanted}: a type of {kind.itemsize}, shape {shape}")
    numbers = np.frombuffer(content, kind, offset=begin).reshape(shape)
    return torch.from_numpy(numbers.astype(kind.newbyteorder("=")))


def mnist(folder: str | Path) -> tuple[Images, Images]:
    """MNIST, or what has its format, from a folder with its four files, packed by gzip or not: to learn from, and to test.

    The files are ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and
    ``t10k-labels-idx1-ubyte``, with or without ``.gz``, and with ``.`` or ``-`` before ``idx``. Nothing is downloaded. Shapes
    are those of :class:`Images`. Raises ValueError where a file is missing, is not in the IDX format or does not fit its
    neighbour.

    >>> mnist("nowhere")
    Traceback (most recent call last):
    ValueError: folder is nowhere; expected a folder with train-images-idx3-ubyte, packed by gzip or not
    """
    folder = _path("folder", folder)
    one, other = (_pair(folder, part) for part in ("train", "t10k"))
    return one, other


def _pair(folder: Path, part: str) -> Images:
    pictures, labels = (read_idx(_found(folder, f"{part}-{kind}")) for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    if pictures.ndim != 3 or labels.ndim != 1 or len(pictures) != len(labels):
        shapes = f"{tuple(pictures.shape)} and {tuple(labels.shape)}"
        raise ValueError(f"{part} of {folder} has pictures and labels of shapes {shapes}; expected [n, height, width] and [n]")
    if pictures.dtype != torch.uint8:
        raise ValueError(f"{part} of {folder} has pixels of {pictures.dtype}; expected bytes")
    return Images(pictures.to(torch.get_default_dtype()) / 255, labels.long())


def _found(folder: Path, name: str) -> Path:
    for spelled in (name, name.replace("-idx", ".idx")):
        for path in (folder / spelled, folder / f"{spelled}.gz"):
            if path.is_file():
                return path
    raise ValueError(f"folder is {folder}; expected a folder with {name}, packed by gzip or not")


def _path(name: str, path: str | Path) -> Path:
    if not isinstance(path, str | Path):
        raise ValueError(f"{name} is a {type(path).__name__}; expected a path")
    return Path(path)
