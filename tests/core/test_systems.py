"""What a mask makes of coupled spins: the systems written out spin by spin."""

import pytest
import torch
from helpers.draw import close, couplings, mask_of, normal

from attnlib._core.systems import apart_by, together_by


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("shape", [(2, 4, 4), (4, 4), (4,)])
def test_hidden_spins_are_alone_and_feel_nothing(shape, d):
    """Of a pair neither feels the other: rows and columns of what is hidden are zero."""
    J, h, mask = couplings(2, 4 * d), normal(2, 4 * d, seed=1), mask_of(*shape, seed=2)
    apart, fields, full = apart_by(mask, J, h, (2,), 4)
    queries = mask.shape[-2] if mask.ndim > 1 else 1
    assert apart.shape == (2, queries, 4 * d, 4 * d)
    assert full.shape == (2, queries, 4)
    seen = mask.expand(2, queries, 4)
    assert torch.equal(full, seen)
    for b in range(2):
        for q in range(queries):
            here = seen[b, q].repeat_interleave(d)
            close(apart[b, q], torch.where(torch.outer(here, here), J[b], 0.0), atol=0.0)
            close(fields[b, q], torch.where(here, h[b], 0.0), atol=0.0)
    means = normal(2, queries, 4 * d, seed=3)
    found = together_by(full, means, d)
    for i in range(4):  # each in the system of its own query
        own = i if queries > 1 else 0
        close(found[:, i], means[:, own, i * d : i * d + d] * seen[:, own, i, None], atol=0.0)
