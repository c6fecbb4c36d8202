"""A translator that does as it is told, for tests of what is measured on translators."""

import torch

from attnlib.course.models import Seq2Seq


class Parrot(Seq2Seq):
    """Says what it is told to, and looks where it is told to; words that are told nothing look at the first one.

    ``told`` is, for each pair, what it says of the source and its links.
    """

    def __init__(self, told, source, target, score="dot"):
        super().__init__(len(source), len(target), hidden=2, embedding=1, score=score)
        self.target = target
        self.told = {tuple(source.encode(pair.source)): answer for pair, answer in told.items()}

    def answers(self, source):
        return [self.told[tuple(number for number in row if number)] for row in source.tolist()]

    def greedy(self, source, mask=None, *, longest=30):
        rows = [[*self.target.encode(said), 2] for said, _ in self.answers(source)]
        return torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])

    def explain(self, source, given, mask=None):
        record = super().explain(source, given, mask)
        weights = record.weights.detach()  # the same memory
        weights.zero_()[..., 0] = 1
        for row, (_, looked) in zip(weights, self.answers(source), strict=True):
            for i, j in looked:
                row[i, 0] = 0
                row[i, j] = 1
        return record
