"""Four blocks as they are trained: attention once, attention to its fixed point, mean-field spins, spins with a free energy.

None of them computes what another does: they are timed beside softmax attention, forward and backward, and not compared.
What counts is how the times grow with the number of tokens and with their width.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attnlib.attention import SoftmaxAttention
from attnlib.free_energy import VectorSpinAttention
from attnlib.mean_field import Binary, MeanFieldAttention
from benchmarks.harness import Case, Contestant, Entry
from experiments.equilibrium import Equilibrium

BATCH = 8
SIZES = ((16, 16), (32, 16), (64, 16), (128, 16), (256, 16), (512, 16), (64, 8), (64, 32), (64, 64))
LARGEST = 4096
"""Components of all spins together, beyond which mean-field spins are left out: one pass takes seconds there."""


def blocks(n: int, dim: int) -> dict[str, nn.Module]:
    """Every block for so many tokens of a width, one head, no maps around it."""
    torch.manual_seed(0)
    spins = {"sites": n, "bare": True}
    return {
        "softmax": SoftmaxAttention(dim, bare=True),
        "deep_equilibrium": Equilibrium(SoftmaxAttention(dim, bare=True)),
        "mean_field": MeanFieldAttention(dim, prior=Binary(), onsager="none", beta=1.0, tolerance=1e-4, **spins),
        "free_energy": VectorSpinAttention(dim, beta=1.0, **spins),
        "free_energy_one_z": VectorSpinAttention(dim, beta=1.0, lengths="total", **spins),
    }


def trained(block: Callable[[Tensor], Tensor], x: Tensor, pull: Tensor) -> Contestant:
    """Forward, and the gradients of the product with ``pull`` for x and all parameters."""

    def run() -> tuple[Tensor, ...]:
        x.grad = None
        out = block(x)
        out.backward(pull)
        return out.detach(), x.grad

    return run


def cases(quick: bool) -> Iterator[Case]:
    """Forward and backward, in single precision, at one width and at one number of tokens.

    Mean-field spins have cases of their own: between their passes of seconds the others would be timed too few times.
    """
    for n, dim in ((4, 3), (6, 2)) if quick else SIZES:
        generator = torch.Generator().manual_seed(n)
        x, pull = (torch.randn(BATCH, n, dim, generator=generator) for _ in range(2))
        x = nn.functional.layer_norm(x, (dim,)).requires_grad_()
        sizes, measures = {"batch": BATCH, "n": n, "width": dim}, "forward + backward"
        made = {name: trained(block, x, pull) for name, block in blocks(n, dim).items()}
        yield Case(sizes, measures, {name: block for name, block in made.items() if name != "mean_field"})
        if n * dim <= LARGEST:
            yield Case(sizes, measures, {name: made[name] for name in ("softmax", "mean_field")})


ENTRY = Entry(
    title="Four blocks, float32",
    contestants={
        "softmax": "attnlib.SoftmaxAttention, once",
        "deep_equilibrium": "a normalised residual block of it, by attnlib.solve.fixed_point to 1e-4",
        "mean_field": "attnlib.mean_field.MeanFieldAttention, binary spins without a reaction, to 1e-4",
        "free_energy": "attnlib.free_energy.VectorSpinAttention, free couplings, a z for each spin",
        "free_energy_one_z": "the same with one z for all spins",
    },
    reference="softmax",
    cases=cases,
    apart=("deep_equilibrium", "mean_field", "free_energy", "free_energy_one_z"),
    on_a_page=True,
)
