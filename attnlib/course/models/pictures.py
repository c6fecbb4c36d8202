"""Pictures as tokens: patches, and a classifier around any mixer that reads out one extra token."""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_device, check_dtype, check_floating
from attnlib._core.numerics import differentiable
from attnlib._core.values import check_finite, check_result


def patches(images: Float[Tensor, "*batch height width"], size: tuple[int, int]) -> Float[Tensor, "*batch n d"]:
    """Cut pictures into patches, row by row: ``[*batch, height, width]`` becomes ``[*batch, n, d]``, d pixels in each patch.

    ``size`` is height and width of a patch. Raises ValueError on patches that do not tile the pictures, or that are not
    floating, finite tensors.

    >>> patches(torch.arange(8.0).reshape(2, 4), (2, 2))
    tensor([[0., 1., 4., 5.],
            [2., 3., 6., 7.]])
    """
    check_floating(images=images)
    height, width = check_size("size", size)
    if images.ndim < 2 or images.shape[-2] % height or images.shape[-1] % width or 0 in images.shape[-2:]:
        shape = tuple(images.shape)
        raise ValueError(f"images has shape {shape}; expected [*batch, height, width], multiples of {height} and {width}")
    check_finite(images=images)
    rows, columns = images.shape[-2] // height, images.shape[-1] // width
    cut = images.reshape(*images.shape[:-2], rows, height, columns, width).transpose(-3, -2)
    return cut.reshape(*images.shape[:-2], rows * columns, height * width)


class PatchClassifier(nn.Module):
    r"""Classify pictures by what one extra token makes of all patches.

    .. math:: x_0 = b_0, \qquad x_i = W p_i + b_i, \qquad \mathrm{logits} = R\, \mathrm{mixer}(x)_0 + c

    Every patch ``p_i`` becomes a token by one linear map and a learned field of its own place. Token 0 sees no pixels: it has a
    learned field only, and what the mixer makes of it is read out linearly. Nothing else is between pixels and logits, so that
    what such a classifier can do is what its mixer can do.

    Args:
        mixer: a :class:`attnlib.attention.Mixer`, or any module with an attribute ``dim`` that takes and returns
            ``[*batch, n, dim]``.
        image: height and width of the pictures.
        patch: height and width of a patch.
        classes: number of classes.
        device, dtype: of its own parameters, as in ``nn.Linear``.

    The call takes ``images [*batch, height, width]`` and returns the logits, ``[*batch, classes]``.

    Raises:
        ValueError: a mixer without a width, sizes that do not fit each other; in the call, pictures of another size, non-finite
            entries, and what the mixer raises.

    Source: Dosovitskiy et al. 2021 for patches with an extra token; Bal 2021, Deep Implicit Attention, for spins.

    >>> from attnlib.attention import SoftmaxAttention
    >>> PatchClassifier(SoftmaxAttention(6), image=(8, 8), patch=(2, 4))(torch.zeros(3, 8, 8)).shape
    torch.Size([3, 10])
    """

    def __init__(
        self,
        mixer: nn.Module,
        *,
        image: tuple[int, int] = (8, 8),
        patch: tuple[int, int] = (2, 2),
        classes: int = 10,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(mixer, nn.Module) or not isinstance(getattr(mixer, "dim", None), int):
            raise ValueError(f"mixer is a {type(mixer).__name__}; expected a module with an attribute dim, such as a Mixer")
        self.image, self.patch = check_size("image", image), check_size("patch", patch)
        rows, columns = (whole // part for whole, part in zip(self.image, self.patch, strict=True))
        if (rows * self.patch[0], columns * self.patch[1]) != self.image:
            raise ValueError(f"patch is {self.patch}; expected one that tiles the image, {self.image}")
        classes = check_count("classes", classes)
        check_device(device)
        check_dtype(dtype)
        self.mixer, dim = mixer, check_count("mixer.dim", cast("int", mixer.dim))
        self.embed = nn.Linear(self.patch[0] * self.patch[1], dim, bias=False, device=device, dtype=dtype)
        self.fields = nn.Parameter(torch.empty(1 + rows * columns, dim, device=device, dtype=dtype))
        nn.init.normal_(self.fields, std=0.5)
        self.readout = nn.Linear(dim, classes, device=device, dtype=dtype)

    def tokens(self, images: Float[Tensor, "*batch height width"]) -> Float[Tensor, "*batch n dim"]:
        """The tokens of pictures, ``[*batch, 1 + patches, dim]``, the extra one first. Errors are those of the call."""
        check_floating(images=images, fields=self.fields)
        if tuple(images.shape[-2:]) != self.image:
            raise ValueError(f"images has shape {tuple(images.shape)}; expected [*batch, {self.image[0]}, {self.image[1]}]")
        seen = self.embed(patches(differentiable(images) if torch.is_grad_enabled() else images, self.patch))
        blank = seen.new_zeros(*seen.shape[:-2], 1, seen.shape[-1])
        made = torch.cat([blank, seen], -2) + self.fields.to(seen.dtype)
        return check_result(made, "images or the parameters that make tokens of them are")

    def forward(self, images: Float[Tensor, "*batch height width"]) -> Float[Tensor, "*batch classes"]:
        """Logits of each picture: see the class for shapes and errors."""
        tokens = self.tokens(images)
        try:
            response: Tensor = self.mixer(tokens)
        except ValueError as error:
            raise ValueError(f"images became tokens that the mixer does not take: {error}") from error
        logits: Tensor = self.readout(response[..., 0, :])
        return check_result(logits, "images or the parameters are")


def check_size(name: str, size: tuple[int, int]) -> tuple[int, int]:
    """Return height and width; raise unless they are two positive integers."""
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise ValueError(f"{name} is {size!r:.40}; expected a height and a width")
    return check_count(name, size[0]), check_count(name, size[1])
