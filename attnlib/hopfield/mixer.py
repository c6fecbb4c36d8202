"""Attention as descent on an energy, as a mixer."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import Empty, Scalar, check_count, check_flag, check_number
from attnlib._core.numerics import attention_average, attention_weights_of, differentiable, lengths, widened
from attnlib.attention import Heads, Mixer, Places, check_heads
from attnlib.hopfield.descent import Energy, gradient
from attnlib.hopfield.energy import hopfield_energy, relaxed
from attnlib.hopfield.records import EnergyRecord


class EnergyAttention(Mixer):
    r"""Attention as descent: each head's queries take steps down an energy shaped by the head's keys.

    .. math:: \xi \leftarrow \xi - \gamma\, \nabla_\xi E(\xi;\, W_K^h c), \qquad \xi_0 = W_Q^h x, \qquad
        \mathrm{out} = W_O [\xi_T^h]_h

    There is no map for values: they are the keys. With the Hopfield energy, one step of size one and ``bare=True`` this is
    ``attend(x, context, context)``, computed in closed form by torch's fused attention.

    Args:
        step_size: the step ``gamma``, default 1.
        steps: number of steps, default 1.
        energy: ``energy(state, memory, beta=..., mask=...)``, with ``score_bias=...`` too where one is given; tensors per head,
            ``[*batch, heads, n, d]`` and ``[*batch, heads, m, d]`` in, ``[*batch, heads, n]`` out; default
            :func:`hopfield_energy`. It is differentiated automatically, and the step can be differentiated again for training.
        closed_form: default True for the Hopfield energy; False sends it through automatic differentiation like any other.
        twice_differentiable: take formulas that can be differentiated more than once, at the price of speed and memory.

    The other arguments are those of :class:`attnlib.attention.Mixer`. Dropout acts on the weights of each closed step.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also ``closed_form=True`` with another energy, dropout without the
            closed form, ``steps < 1``, a step size that is not finite.

    Source: Ramsauer et al. 2021; the interface with an energy as an argument follows Bal 2020.

    >>> EnergyAttention(8, bare=True, steps=3, step_size=0.5)(torch.zeros(1, 2, 8), torch.zeros(1, 5, 8)).shape
    torch.Size([1, 2, 8])
    """

    has_values = False
    mixed_from = "x, context, score_bias, energy, step_size"

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        heads: int = 1,
        head_dim: int | None = None,
        beta: Scalar | None = None,
        learn_beta: bool = False,
        causal: bool = False,
        dropout: float | int = 0.0,
        bias: bool = False,
        bare: bool = False,
        places: Places | None = None,
        empty: Empty = "error",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        twice_differentiable: bool = False,
        step_size: float | int = 1.0,
        steps: int = 1,
        energy: Callable[..., Tensor] | None = None,
        closed_form: bool | None = None,
    ) -> None:
        super().__init__(
            dim,
            context_dim,
            heads=heads,
            head_dim=head_dim,
            beta=beta,
            learn_beta=learn_beta,
            causal=causal,
            dropout=dropout,
            bias=bias,
            bare=bare,
            places=places,
            empty=empty,
            device=device,
            dtype=dtype,
        )
        check_flag(twice_differentiable=twice_differentiable, **({} if closed_form is None else {"closed_form": closed_form}))
        if energy is not None and not callable(energy):
            raise ValueError(f"energy is a {type(energy).__name__}; expected a function, or None")
        hopfield = energy is None or energy is hopfield_energy
        if closed_form and not hopfield:
            raise ValueError("closed_form is True; expected False or None with an energy other than hopfield_energy")
        self.steps, self.step_size = check_count("steps", steps), check_number("step_size", step_size)
        self.energy: Callable[..., Tensor] = hopfield_energy if energy is None else energy
        self.closed_form = hopfield if closed_form is None else closed_form
        self.twice_differentiable = twice_differentiable
        if self.dropout and not self.closed_form:
            raise ValueError(f"dropout is {dropout}; expected 0 without the closed form: an energy has no weights to drop")

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Take the steps from each head's queries, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        state = heads.query
        for _ in range(self.steps):
            state = self._step(heads, state)
        return state

    def _step(self, heads: Heads, state: Tensor) -> Tensor:
        if not self.closed_form:
            return state - self.step_size * gradient(self._energy_of(heads), state)[1]
        attended = attention_average(
            state,
            heads.key,
            heads.key,
            heads.beta,
            heads.seen,
            heads.score_bias,
            dropout=heads.dropout,
            explicit=self.twice_differentiable,
        )
        return relaxed(state, attended, self.step_size)

    def _energy_of(self, heads: Heads) -> Energy:
        """The energy of states among the keys of these heads."""
        key = differentiable(heads.key)
        settings = {"beta": heads.beta, "mask": heads.mask}
        if heads.score_bias is not None:
            settings["score_bias"] = heads.score_bias
        return lambda state: self.energy(state, key, **settings)

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        score_bias: Float[Tensor, "..."] | None = None,
    ) -> EnergyRecord:
        """Output, weights, and the descent of each head, as in :class:`EnergyRecord`.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call. Energies and
        norms are in single precision or better.
        """
        heads = self.split(x, context, mask, score_bias)
        states, energies, norms, weights = [heads.query], [], [], None
        wide = self._energy_of(heads.widened())
        for step in range(self.steps + 1):
            value, slope = gradient(wide, widened(states[-1]))
            energies.append(value)
            norms.append(lengths(slope))
            if step < self.steps:
                states.append(self._step(heads, states[-1]))
        if self.energy is hopfield_energy:
            weights = attention_weights_of(states[-2], heads.key, heads.beta, heads.seen, heads.score_bias)
            weights = heads.seen.close(weights).to(heads.query.dtype)
        output = self.merge(states[-1], heads)
        return EnergyRecord(output, weights, torch.stack(states), torch.stack(energies), torch.stack(norms))

    def extra_repr(self) -> str:
        """Sizes, inverse temperature and steps, for printing."""
        return f"{super().extra_repr()}, steps={self.steps}, step_size={self.step_size}"
