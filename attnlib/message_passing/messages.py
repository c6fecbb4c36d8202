"""The messages of a factor graph: a sweep, what is believed after it, and how settled messages move with the tables."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib._core.convergence import ConvergenceWarning, OnFailure
from attnlib._core.numerics import log_sum, widened
from attnlib._core.values import check_result, refuted
from attnlib.message_passing.factors import FactorGraph
from attnlib.message_passing.records import BeliefRecord
from attnlib.solve import spectral_radius, with_derivatives

PRODUCTS = 64
"""Products with the Jacobian of a sweep that the verdict on its stability may cost: four digits in a glass of 30 spins."""


class Messages:
    """The messages of a graph, ``[*batch, edges, states]``, as logarithms of probabilities; what is not a state has none."""

    def __init__(self, graph: FactorGraph) -> None:
        self.graph, self.most = graph, max(graph.states)
        self.dtype, device = graph.log_potentials[0].dtype, graph.log_potentials[0].device
        self.tables = [widened(table) for table in graph.log_potentials]
        self.variable = torch.cat([scope.flatten() for scope in graph.scopes])  # of each edge
        counts = torch.tensor(graph.states, device=device)[:, None]
        self.valid = torch.arange(self.most, device=device) < counts  # [variables, states]

    def start(self) -> Tensor:
        """Messages that say nothing."""
        nothing = self.normalised(self.valid.to(self.tables[0].dtype).log())
        return nothing[self.variable].expand(*self.graph.batch, -1, -1)

    def sweep(self, nu: Tensor) -> Tensor:
        """The messages from factors to variables after those from variables to factors were made of them."""
        mu, sent = self.to_factors(nu), []
        for (_, arity, shape), table, part in zip(self._groups(), self.tables, self._split(mu), strict=True):
            for place in range(arity):
                joint = self.joint(table, part, [other for other in range(arity) if other != place])
                others = [other - arity for other in range(arity) if other != place]
                message = log_sum(joint, others) if others else joint
                sent.append(torch.nn.functional.pad(message, (0, self.most - shape[place]), value=-torch.inf))
        new = [torch.stack(messages, -2).flatten(-3, -2) for messages in self._by_group(sent)]
        new = [message.expand(*self.graph.batch, *message.shape[-2:]) for message in new]
        return self.normalised(torch.cat(new, -2))

    def damped(self, nu: Tensor, after: Tensor, damping: float | int) -> Tensor:
        """The messages after a sweep, with part of their old logarithms kept."""
        mixed = torch.where(nu.minimum(after) > -torch.inf, (1 - damping) * after + damping * nu, -torch.inf)
        return self.normalised(mixed) if damping else after

    def attached(self, nu: Tensor, damping: float | int, max_steps: int, on_failure: OnFailure) -> Tensor:
        """Messages that have settled, with their derivatives. Those that are impossible have none."""
        again, possible = self.flat(nu, damping)
        flat = with_derivatives(
            again,
            torch.where(possible, nu, 0.0).flatten(-2),
            max_steps=max_steps,
            sweeps=max_steps,
            on_failure=on_failure,
        )
        return torch.where(possible, flat.view_as(nu), -torch.inf)

    def flat(self, nu: Tensor, damping: float | int) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        """A damped sweep as a map of flat states ``[*batch, edges * states]``, and which messages are possible in them.

        What is impossible at nu stays so, and is zero in the states.
        """
        possible = nu > -torch.inf

        def again(flat: Tensor) -> Tensor:
            now = torch.where(possible, flat.view_as(nu), -torch.inf)
            return torch.where(possible, self.damped(now, self.sweep(now), damping), 0.0).flatten(-2)

        return again, possible

    @torch.no_grad()
    def stability(self, nu: Tensor, core: Tensor, damping: float | int = 0.0) -> Tensor:
        """One minus the spectral radius of a sweep at messages that have settled, ``[*batch]``.

        Only messages of the factors in the core, ``[edges]``, can come back to where they started: no others have eigenvalues.
        """
        again, possible = self.flat(nu, damping)
        settled = torch.where(possible, nu, 0.0).flatten(-2)
        inside = core.repeat_interleave(self.most)

        def looped(state: Tensor) -> Tensor:
            return torch.where(inside, again(torch.where(inside, state, settled)), settled)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a verdict can do with fewer digits
            return 1 - spectral_radius(looped, settled, max_steps=PRODUCTS, on_failure="warn")

    def to_factors(self, nu: Tensor) -> Tensor:
        """The messages from variables to factors: what all other factors say. A minus infinity is counted, not subtracted."""
        open_ = nu > -torch.inf
        said, blocked = torch.where(open_, nu, 0.0), (~open_).to(nu.dtype)
        total, holes = self._gathered(said), self._gathered(blocked)
        mu = total.index_select(-2, self.variable) - said
        free = (holes.index_select(-2, self.variable) - blocked < 0.5) & self.valid[self.variable]
        return self.normalised(torch.where(free, mu, -torch.inf))

    def record(self, nu: Tensor, residual: Tensor, iterations: Tensor, converged: Tensor, stability: Tensor) -> BeliefRecord:
        """Beliefs and the Bethe free energy of messages."""
        mu = self.to_factors(nu)
        open_ = nu > -torch.inf
        total = self._gathered(torch.where(open_, nu, 0.0))
        holes = self._gathered((~open_).to(nu.dtype))
        logits = torch.where((holes < 0.5) & self.valid, total, -torch.inf)
        one, of_variables = log_sum(logits, [-1]), []
        value = one.sum(-1) - log_sum(mu + nu, [-1]).sum(-1)
        for (_, arity, _), table, part in zip(self._groups(), self.tables, self._split(mu), strict=True):
            joint = self.joint(table, part, list(range(arity)))
            norm = log_sum(joint, list(range(-arity, 0)))
            value = value + norm.sum(-1)
            of_variables.append((joint - norm[(..., *(None,) * arity)]).exp().to(self.dtype))
        if refuted(lambda: (value > -torch.inf).all()):  # a NaN too
            raise ValueError("log_potentials forbid every state; expected at least one that all factors allow")
        beliefs = (logits - one[..., None]).exp().to(self.dtype)
        value = check_result(value.to(self.dtype), "log_potentials are")
        return BeliefRecord(beliefs, tuple(of_variables), value, residual, iterations, converged, stability)

    @staticmethod
    def normalised(messages: Tensor) -> Tensor:
        """Logarithms of probabilities; where nothing is possible, they stay minus infinity."""
        total = log_sum(messages, [-1])[..., None]
        return messages - torch.where(total > -torch.inf, total, 0.0)

    def _gathered(self, messages: Tensor) -> Tensor:
        """Sums at the variables, ``[*batch, variables, states]``."""
        shape = (*messages.shape[:-2], self.graph.variables, self.most)
        return messages.new_zeros(shape).index_add(-2, self.variable, messages)

    def _groups(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Factors, arity and numbers of states of each group."""
        sizes = [scope.shape for scope in self.graph.scopes]
        return [(size[0], size[1], tuple(table.shape[-size[1] :])) for size, table in zip(sizes, self.tables, strict=True)]

    def _split(self, messages: Tensor) -> list[Tensor]:
        """Messages by group, ``[*batch, factors, arity, states]``."""
        groups = self._groups()
        parts = messages.split([factors * arity for factors, arity, _ in groups], -2)
        return [part.unflatten(-2, (factors, arity)) for part, (factors, arity, _) in zip(parts, groups, strict=True)]

    def _by_group(self, sent: list[Tensor]) -> list[list[Tensor]]:
        rest, parts = iter(sent), []
        for _, arity, _ in self._groups():
            parts.append([next(rest) for _ in range(arity)])
        return parts

    @staticmethod
    def joint(table: Tensor, part: Tensor, places: list[int]) -> Tensor:
        """The table with the messages at some of its places, of ``[*batch, factors, arity, states]``, multiplied in."""
        arity = part.shape[-2]
        for place in places:
            message = part[..., place, : table.shape[place - arity]]
            table = table + message[(..., *(None,) * place, slice(None), *(None,) * (arity - 1 - place))]
        return table
