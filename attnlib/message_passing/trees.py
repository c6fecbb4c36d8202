"""Belief propagation on a forest in two passes, from the leaves to the middle and back; along paths by transfer matrices."""

import math
from itertools import islice

import torch
from torch import Tensor

from attnlib._core.numerics import log_sum
from attnlib.message_passing.factors import rows_of
from attnlib.message_passing.messages import Messages

Part = tuple[Tensor, Tensor, Tensor, int]
"""Factors of one shape and one round, the variable that lies nearer to the middle in front: tables ``[*batch, factors,
*states]``, variables and edges ``[factors, arity]``; and 1. Or the pairs of as many rounds as the number says, one round after
the other, where each pair has behind it what the pair at its place in the round before has in front: paths.
"""
LONG, LARGE = 32, 2**14
"""Rounds from which paths pay, if a product of a round's transfer matrices takes no more multiplications than this."""


def two_passes(messages: Messages, rounds: list[int], toward: list[int]) -> Tensor:
    """All messages to variables, ``[*batch, edges, states]``: each is computed once, from others that are final.

    ``rounds`` and ``toward`` are those of :func:`attnlib.message_passing.factors.peeled`.
    """
    walk, parts = _Walk(messages), with_paths(in_rounds(messages, rounds, toward))
    told = [walk.inwards(*part) for part in parts]
    for part, message in zip(reversed(parts), reversed(told), strict=True):
        walk.outwards(*part, message)
    return torch.cat(walk.sent, -2).index_select(-2, torch.cat(walk.edges).argsort())


def in_rounds(messages: Messages, rounds: list[int], toward: list[int]) -> list[Part]:
    """The factors of a graph round by round, and in a round by the shape of their turned tables."""
    graph, device = messages.graph, messages.variable.device
    found: dict[tuple[int, ...], list[tuple[Tensor, ...]]] = {}
    factor = edge = 0
    for scope, table in zip(graph.scopes, messages.tables, strict=True):
        size, arity = scope.shape
        own = torch.tensor([rounds[factor : factor + size], toward[factor : factor + size]], device=device)
        edges = edge + torch.arange(size * arity, device=device).view(size, arity)
        for place in range(arity):
            (which,) = (own[1] == place).nonzero(as_tuple=True)
            front = [place, *(other for other in range(arity) if other != place)]
            turned = table.movedim(place - arity, -arity).index_select(-arity - 1, which)
            turned = turned.expand(*graph.batch, *turned.shape[-arity - 1 :])
            entry = (turned, scope[which][:, front], edges[which][:, front], own[0][which])
            found.setdefault(tuple(turned.shape[-arity:]), []).append(entry)
        factor, edge = factor + size, edge + size * arity
    parts = []
    for entries in found.values():
        variables, edges, number = (torch.cat(ones) for ones in list(zip(*entries, strict=True))[1:])
        number, order = number.sort(stable=True)
        place = -variables.shape[1] - 1
        tables = torch.cat([entry[0] for entry in entries], place).index_select(place, order)
        numbers, sizes = number.unique_consecutive(return_counts=True)
        of_round = [(tables, place), (variables[order], 0), (edges[order], 0)]
        pieces = (one.split(sizes.tolist(), axis) for one, axis in of_round)
        parts += list(zip(numbers.tolist(), *pieces, strict=True))
    return [(*part[1:], 1) for part in sorted(parts, key=lambda part: part[0])]


def with_paths(parts: list[Part]) -> list[Part]:
    """The same factors, with rounds put together that go on along the same paths."""
    pairs = [variables for _, variables, _, _ in parts if variables.shape[1] == 2]
    rows, runs, heads = iter(rows_of(torch.cat(pairs))) if pairs else iter(()), list[list[Part]](), list[int]()
    for tables, variables, edges, _ in parts:
        own = list(islice(rows, len(variables))) if variables.shape[1] == 2 else []
        fits = own and tables.shape[-2] == tables.shape[-1] and tables.numel() * tables.shape[-1] <= LARGE
        behind = {row[1]: place for place, row in enumerate(own)} if fits else {}
        order = [behind.get(head, -1) for head in heads]
        if order and sorted(order) == list(range(len(own))):
            if order != sorted(order):
                tables, variables, edges = tables[..., order, :, :], variables[order], edges[order]
            runs[-1].append((tables, variables, edges, 1))
            heads = [own[place][0] for place in order]
        else:
            runs.append([(tables, variables, edges, 1)])
            heads = [row[0] for row in own] if fits else []
    found = list[Part]()
    for run in runs:
        if len(run) < LONG:
            found += run
        else:
            of_each = list(zip(*run, strict=True))
            found.append((torch.cat(of_each[0], -3), torch.cat(of_each[1]), torch.cat(of_each[2]), len(run)))
    return found


def along(matrices: Tensor) -> Tensor:
    r"""What each transfer matrix of a path ``[length, *any, to, from]`` makes of what it was told, ``[length, *any, to]``.

    .. math:: m_l(x) = \frac{1}{Z_l} \sum_y e^{T_l(x, y)} m_{l-1}(y), \qquad m_0 = 1

    All are logarithms. The path is cut into about as many blocks as a block has matrices; all blocks at a time, the matrices of
    each are multiplied, and when it is known what enters each block, what is told within follows: 3 sqrt(length) rounds.
    """
    length, size = len(matrices), math.isqrt(len(matrices))
    blocks = torch.cat([matrices, matrices.new_zeros(-length % size, *matrices.shape[1:])]).unflatten(0, (-1, size))
    product = blocks[:, 0]
    for place in range(1, size):
        product = log_sum(blocks[:, place, ..., None] + product[..., None, :, :], [-2])
        product = Messages.normalised(product.flatten(-2)).view_as(product)
    entering = [matrices.new_zeros(matrices.shape[1:-1])]
    for block in product[:-1]:
        entering.append(Messages.normalised(log_sum(block + entering[-1].unsqueeze(-2), [-1])))
    message, told = torch.stack(entering), list[Tensor]()
    for place in range(size):
        message = Messages.normalised(log_sum(blocks[:, place] + message.unsqueeze(-2), [-1]))
        told.append(message)
    return torch.stack(told, 1).flatten(0, 1)[:length]


class _Walk:
    """What each variable has heard so far: finite logarithms, and how often a state was ruled out, ``[*batch, n, states]``."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        self.said = messages.tables[0].new_zeros(*messages.graph.batch, messages.graph.variables, messages.most)
        self.soft = bool(messages.valid.all()) and not any(bool(table.isinf().any()) for table in messages.tables)
        self.holes = (~messages.valid).to(self.said.dtype).expand_as(self.said).clone()
        self.sent: list[Tensor] = []
        self.edges: list[Tensor] = []

    def inwards(self, tables: Tensor, variables: Tensor, edges: Tensor, length: int) -> Tensor:
        """Each factor tells the variable in front what all others said; returns what it told."""
        rest = list(range(1, variables.shape[1]))
        joint = self.messages.joint(tables, self._heard(variables), rest) if rest else tables
        return self._tell(joint, 0, variables, edges, length)

    def outwards(self, tables: Tensor, variables: Tensor, edges: Tensor, length: int, told: Tensor) -> None:
        """Each factor tells all others what the variable in front says, but for what it was told, and what the rest say."""
        arity = variables.shape[1]
        heard = self._heard(variables, told) if arity > 1 else told
        for place in range(1, arity):
            joint = self.messages.joint(tables, heard, [other for other in range(arity) if other != place])
            self._tell(joint, place, variables, edges, length)

    def _heard(self, variables: Tensor, told: Tensor | None = None) -> Tensor:
        """What variables have heard, but for what a factor told the first, ``[*batch, factors, arity, states]``."""
        flat, shape = variables.flatten(), (*self.said.shape[:-2], *variables.shape, -1)
        said, beside = self.said.index_select(-2, flat).view(shape), (0, 0, 0, variables.shape[1] - 1)
        if self.soft:
            return said if told is None else said - torch.nn.functional.pad(told.unsqueeze(-2), beside)
        holes = self.holes.index_select(-2, flat).view(shape)
        if told is not None:
            blocked = told == -torch.inf
            said = said - torch.nn.functional.pad(torch.where(blocked, 0.0, told).unsqueeze(-2), beside)
            holes = holes - torch.nn.functional.pad(blocked.to(said.dtype).unsqueeze(-2), beside)
        return torch.where(holes < 0.5, said, -torch.inf)

    def _tell(self, joint: Tensor, place: int, variables: Tensor, edges: Tensor, length: int) -> Tensor:
        """Send what a joint table says of the variable at a place, and add it to what that one has heard."""
        arity, to = variables.shape[1], variables[:, place]
        others = [axis - arity for axis in range(arity) if axis != place]
        if length > 1:
            steps = joint.unflatten(-3, (length, -1)).movedim(-4, 0)
            steps = along(steps.mT.flip(0)).flip(0) if place else along(steps)  # outwards from its end
            message = steps.movedim(0, -3).flatten(-3, -2)
        elif self.soft:
            message = (torch.logsumexp(joint, others) if others else joint).log_softmax(-1)
        else:
            message = self.messages.normalised(log_sum(joint, others) if others else joint)
        if self.soft:
            self.said.index_add_(-2, to, message)
        else:
            message = torch.nn.functional.pad(message, (0, self.messages.most - message.shape[-1]), value=-torch.inf)
            blocked = message == -torch.inf
            self.said.index_add_(-2, to, torch.where(blocked, 0.0, message))
            self.holes.index_add_(-2, to, blocked.to(self.holes.dtype))
        self.sent.append(message)
        self.edges.append(edges[:, place])
        return message
