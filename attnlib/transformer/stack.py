"""Blocks one after another, or one block again and again."""

from collections.abc import Iterable
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_device, check_dtype, check_flag, check_kind, check_number
from attnlib._core.values import check_result
from attnlib.transformer.tokens import check_tokens


class Stack(nn.Module):
    r"""Blocks one after another, or one block applied again and again.

    .. math:: x_{t+1} = B_t(x_t), \quad t = 0, \dots, T-1, \qquad \mathrm{out} = x_T \;\text{or}\; \mathrm{LN}\,x_T

    ``Stack([first, second])`` has a block for each step. ``Stack(block, steps=8)`` is tied: one block, applied eight times, an
    iteration that a call may carry on or cut short with ``steps=``. GPT-2 is the first kind with a last norm, ALBERT the
    second.

    Args:
        blocks: modules with ``forward(x, context=None, mask=None)`` that keep the shape of x; or one, which is tied.
        steps: how often the one block is applied; for blocks of their own it is their number, and need not be given.
        norm: end with a norm; default False.
        dim: width of the tokens; default that of the first block, and needed for a norm only where that does not say.
        epsilon: what the last norm adds to the variance; default 1e-5.
        device, dtype: of the last norm; default those of the first parameter, else torch's.

    Called with x ``[*batch, n, dim]``, maybe a context and a mask, which all steps get, and maybe ``steps``, it returns
    ``[*batch, n, dim]``.

    Raises:
        ValueError: no blocks, steps that do not fit them; in the call, more steps than there are blocks of their own, and what
            the blocks raise.

    Source: Dehghani et al. 2019 and Lan et al. 2020 for tied blocks.

    >>> from attnlib.attention import SoftmaxAttention
    >>> from attnlib.transformer import Block
    >>> tied = Stack(Block(SoftmaxAttention(8), feed_forward=16), steps=4)
    >>> x = torch.zeros(1, 3, 8)
    >>> tied(x, steps=6).shape, tied.states(x).shape
    (torch.Size([1, 3, 8]), torch.Size([5, 1, 3, 8]))
    """

    def __init__(
        self,
        blocks: nn.Module | Iterable[nn.Module],
        *,
        steps: int | None = None,
        norm: bool = False,
        dim: int | None = None,
        epsilon: float | int = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.tied = isinstance(blocks, nn.Module) and not isinstance(blocks, nn.ModuleList | nn.Sequential)
        check_kind("blocks", blocks, nn.Module | Iterable, "a module, or some of them")
        if isinstance(blocks, Tensor):
            raise ValueError("blocks is a tensor; expected a module, or some of them")
        made = [cast("nn.Module", blocks)] if self.tied else list(cast("Iterable[nn.Module]", blocks))
        if not made or not all(isinstance(block, nn.Module) for block in made):
            raise ValueError(f"blocks is {[type(block).__name__ for block in made]}; expected a module, or some of them")
        self.steps = check_count("steps", len(made) if steps is None else steps)
        if not self.tied and self.steps != len(made):
            raise ValueError(f"steps is {steps}; expected {len(made)}, the number of blocks, or one block, to be tied")
        self.blocks = nn.ModuleList(made)
        check_flag(norm=norm)
        width = getattr(made[0], "dim", None) if dim is None else check_count("dim", dim)
        self.dim = width if isinstance(width, int) else None
        self.context_dim = getattr(made[0], "context_dim", self.dim)
        self.norm: nn.LayerNorm | None = None
        epsilon = check_number("epsilon", epsilon, above=0)
        check_device(device)
        check_dtype(dtype)
        if norm:
            if self.dim is None:
                raise ValueError(f"norm is True and {type(made[0]).__name__} has no width; expected an attribute dim, or dim=")
            first = next((p for block in made for p in block.parameters() if p.is_floating_point()), None)
            device = first.device if device is None and first is not None else device
            dtype = first.dtype if dtype is None and first is not None else dtype
            self.norm = nn.LayerNorm(self.dim, epsilon, device=device, dtype=dtype)

    def forward(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        steps: int | None = None,
        **more: object,
    ) -> Float[Tensor, "*batch n dim"]:
        """Apply the blocks: see the class for shapes and errors. ``more`` goes to each of them as it is."""
        count, x = self._count(steps), self._tokens(x)
        for step in range(count):
            x = self.step(x, step, context, mask, **more)
        return x if self.norm is None else check_result(self.norm(x), "what the blocks made, or the norm's parameters, are")

    def states(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        steps: int | None = None,
        **more: object,
    ) -> Float[Tensor, "states *batch n dim"]:
        """What the tokens are before the first step and after each, ``[steps + 1, *batch, n, dim]``, without the last norm.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        count, found = self._count(steps), [self._tokens(x)]
        for step in range(count):
            found.append(self.step(found[-1], step, context, mask, **more))
        return torch.stack(found)

    def step(
        self,
        x: Float[Tensor, "*batch n dim"],
        step: int,
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        **more: object,
    ) -> Float[Tensor, "*batch n dim"]:
        """What the block of one step, counted from 0, makes of x ``[*batch, n, dim]``. Errors are those of the call."""
        step = check_count("step", step, 0, None if self.tied else len(self.blocks) - 1)
        given = {name: t for name, t in (("context", context), ("mask", mask)) if t is not None} | more
        made: Tensor = self.blocks[0 if self.tied else step](x, **given)
        return made

    def _tokens(self, x: Tensor) -> Tensor:
        return check_tokens(x, self.dim, None if self.norm is None else self.norm.weight)

    def _count(self, steps: int | None) -> int:
        return check_count("steps", self.steps if steps is None else steps, 0, None if self.tied else len(self.blocks))

    def extra_repr(self) -> str:
        """How many steps, and whether they share one block, for printing."""
        return f"steps={self.steps}, tied={self.tied}"
