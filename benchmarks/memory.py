"""Memory of one call, forward and backward, above what it started with: each contestant in a process of its own.

``python -m benchmarks.memory`` measures all and writes ``results/memory.json``; ``python -m benchmarks.memory NAME N`` prints
the bytes of one. Linux only: the kernel's high-water mark is reset before the call.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from torch.nn.functional import scaled_dot_product_attention

from attnlib import EnergyAttention, SoftmaxAttention, causal_mask
from benchmarks.harness import provenance

WIDTH, HEADS, N = 512, 8, 4096
HERE = Path(__file__).resolve().parent


class Fused(SoftmaxAttention):
    """The same maps around torch's fused attention and nothing else: what no module can do without."""

    def forward(self, x):
        query, key, value = (
            linear(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for linear in (self.to_query, self.to_key, self.to_value)
        )
        return self.to_out(scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


def contestants(n):
    """Calls of x, by name."""
    masked = SoftmaxAttention(WIDTH, heads=HEADS)
    mask = causal_mask(n)
    return {
        "fused": Fused(WIDTH, heads=HEADS),
        "softmax_attention": SoftmaxAttention(WIDTH, heads=HEADS),
        "causal": SoftmaxAttention(WIDTH, heads=HEADS, causal=True),
        "learned_beta": SoftmaxAttention(WIDTH, heads=HEADS, learn_beta=True),
        "energy_one_step": EnergyAttention(WIDTH, heads=HEADS),
        "energy_four_steps": EnergyAttention(WIDTH, heads=HEADS, steps=4),
        "masked": lambda x: masked(x, mask=mask),
        "explicit": SoftmaxAttention(WIDTH, heads=HEADS, twice_differentiable=True),
    }


def high_water() -> int:
    """Peak memory of this process since the mark was reset, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def measure(name: str, n: int) -> int:
    """Bytes that forward and backward need above what is there before."""
    torch.set_num_threads(1)
    call = contestants(n)[name]
    small = torch.randn(1, 8, WIDTH, requires_grad=True)
    (call if name != "masked" else SoftmaxAttention(WIDTH, heads=HEADS))(small).sum().backward()  # what torch loads once
    x = torch.randn(1, n, WIDTH, requires_grad=True)
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water()
    call(x).sum().backward()
    return high_water() - before


def measure_apart(name: str, n: int) -> int:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", name, str(n)]
    exact = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # what is freed goes back at once
    done = subprocess.run(command, cwd=HERE.parent, env={**os.environ, **exact}, capture_output=True, text=True, check=True)
    return int(done.stdout)


def main() -> None:
    """Print the bytes of one contestant, or measure all and write the file."""
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], int(sys.argv[2])))
        return
    found = {name: [measure_apart(name, N) for _ in range(3)] for name in contestants(8)}
    sizes = {"batch": 1, "n": N, "width": WIDTH, "heads": HEADS}
    result = {"title": "Memory of forward and backward, bytes", "sizes": sizes, "bytes": found} | provenance()
    (HERE / "results" / "memory.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({name: round(min(taken) / 2**20, 1) for name, taken in found.items()}, indent=1))


if __name__ == "__main__":
    main()
