"""A run through a stack under examination: its states, what each mixer did, the loss at the end, whole or without a head."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from attnlib._core.values import check_result
from attnlib.attention import Mixer
from attnlib.transformer.ablation import Loss, replaced
from attnlib.transformer.examination import NormReading
from attnlib.transformer.norms import listening, read_norms
from attnlib.transformer.reading import Look, look
from attnlib.transformer.stack import Stack

TOGETHER = 2048
"""So many tokens go through the blocks at once where heads are silenced, or one batch."""


@dataclass
class Run:
    """States ``[batch, n, dim]`` of texts of which ``real [batch, n]`` is no padding; ``lead`` is the shape of the tokens."""

    stack: Stack
    readout: Callable[[Tensor], Tensor] | None
    x: Tensor
    real: Tensor
    masked: bool
    lead: tuple[int, ...]
    loss: Loss | None = None
    states: list[Tensor] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    norms: list[NormReading] = field(default_factory=list)
    whole: float | None = None

    @property
    def batch_axes(self) -> int:
        """Axes of the tokens before the last."""
        return len(self.lead) - 1

    @property
    def has_loss(self) -> bool:
        """Whether something is read out and judged."""
        return self.loss is not None and self.readout is not None

    def go(self) -> None:
        """Take all steps; keep the states, what the mixers and the norms did, and the loss."""
        self.states = [self.x]
        for step in range(self.stack.steps):
            self._look(step)
        self.whole = self._end(self.states[-1])

    def step(self, x: Tensor, step: int) -> Tensor:
        """What one step, counted from 0, makes of states; of several copies of the batch, one after another, as well."""
        if not self.masked:
            return self.stack.step(x, step)
        copies = len(x) // len(self.real)
        return self.stack.step(x, step, mask=self.real.repeat(copies, 1).unsqueeze(-2))

    def _look(self, step: int) -> None:
        """Take a step, and look at its mixer and its norms, with what they were given while they worked."""
        check_result(self.states[-1][self.real], "tokens, or the states that model makes of them, are")
        place = 0 if self.stack.tied else step
        block = self.stack.blocks[place]
        mixer = getattr(block, "mixer", None)
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        hook = None
        if isinstance(mixer, Mixer):
            hook = mixer.register_forward_pre_hook(lambda _, given, named: calls.append((given, named)), with_kwargs=True)
        try:
            with listening(block) as heard:
                self.states.append(self.step(self.states[-1], step))
        except ValueError as error:
            raise ValueError(f"tokens cannot take step {step + 1} of model: {error}") from error
        finally:
            if hook is not None:
                hook.remove()
        self.norms += read_norms(block, heard, self.real, step=step + 1, place=place + 1)
        if isinstance(mixer, Mixer) and len(calls) == 1:  # a block that asks its mixer twice has no step of its own
            seen = look(mixer, *calls[0], self.real, step=step + 1, block=place + 1)
            self.looks += [] if seen is None else [seen]

    def ablations(self, seen: Look) -> list[float | None]:
        """What the loss gains where each head in turn says its mean, at this step alone; several at once where texts are short.

        The states before the step are those of the whole run. Copies of the batch go on from there, a head silent in each.
        """
        found: list[float | None] = []
        state, together = self.states[seen.step - 1], max(1, TOGETHER // self.real.numel())
        for first in range(0, len(seen.means), together):
            heads = range(first, min(first + together, len(seen.means)))
            with replaced(seen.mixer, heads, seen.means[first : heads.stop]):
                x = self.step(state.repeat(len(heads), 1, 1), seen.step - 1)
            for later in range(seen.step, self.stack.steps):
                x = self.step(x, later)
            for part in x.chunk(len(heads)):
                without = self._end(part)
                found.append(None if without is None or self.whole is None else without - self.whole)
        return found

    def _end(self, x: Tensor) -> float | None:
        """The loss of last states; None where there is none."""
        if self.loss is None or self.readout is None:
            return None
        x = x if self.stack.norm is None else self.stack.norm(x)
        return float(self.loss(self.readout(x.reshape(*self.lead, x.shape[-1]))))


def is_causal(stack: Stack) -> bool:
    """Whether no step lets a token see a later one, as far as its mixers say."""
    return all(getattr(getattr(block, "mixer", None), "causal", False) for block in stack.blocks)
