"""Asynchronous retrieval: all probes in one vectorised sweep against one probe and one spin after the other.

Every contestant visits the spins in their own order and stops a probe when a whole sweep changes nothing.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from attnlib.course.data import flip_spins, random_patterns
from attnlib.hopfield import classical_recall, dense_recall, hebb_weights
from benchmarks.harness import Case, Contestant, Entry

SPINS, WRONG, SWEEPS = 100, 10, 50


def loop(wants_to_turn: Callable[[np.ndarray, int], bool], probes: Tensor) -> Tensor:
    """The textbook's loop: one probe after the other, one spin after the other, each step one NumPy product."""
    found = probes.numpy().copy()
    for state in found:
        for _ in range(SWEEPS):
            turned = False
            for k in range(len(state)):
                if wants_to_turn(state, k):
                    state[k] = -state[k]
                    turned = True
            if not turned:
                break
    return torch.from_numpy(found)


def classical(probes: Tensor, memory: Tensor) -> dict[str, Contestant]:
    """Give every way to recall from pairwise couplings."""
    weights = hebb_weights(memory)
    rows = weights.numpy()

    def wants_to_turn(state: np.ndarray, k: int) -> bool:
        return state[k] * (rows[k] @ state) < -1e-9  # a tie is no reason to turn

    def one_probe(probe: Tensor) -> Tensor:
        return classical_recall(probe[None], weights, max_steps=SWEEPS).state

    return {
        "vectorised": lambda: (classical_recall(probes, weights, max_steps=SWEEPS).state,),
        "probe_by_probe": lambda: (torch.cat([one_probe(probe) for probe in probes]),),
        "loop": lambda: (loop(wants_to_turn, probes),),
        "products": lambda: (probes @ weights,),
    }


def exponential(probes: Tensor, memory: Tensor) -> dict[str, Contestant]:
    """Give every way to recall from the exponential memory."""
    patterns = memory.numpy()

    def wants_to_turn(state: np.ndarray, k: int) -> bool:
        overlaps = patterns @ state
        pull = np.exp(overlaps - overlaps.max())
        return state[k] * (pull @ patterns[:, k]) < (math.tanh(1) - 1e-12) * pull.sum()

    def one_probe(probe: Tensor) -> Tensor:
        return dense_recall(probe[None], memory, degree="exp", max_steps=SWEEPS).state

    return {
        "vectorised": lambda: (dense_recall(probes, memory, degree="exp", max_steps=SWEEPS).state,),
        "probe_by_probe": lambda: (torch.cat([one_probe(probe) for probe in probes]),),
        "loop": lambda: (loop(wants_to_turn, probes),),
        "products": lambda: (probes @ memory.T,),
    }


def tensors(n: int, m: int) -> tuple[Tensor, Tensor]:
    """Draw m random patterns, and n cues with wrong spins, in float64."""
    generator = torch.Generator().manual_seed(0)
    memory = random_patterns(m, SPINS, generator=generator, dtype=torch.float64)
    cues = memory[torch.arange(n) % m]
    return flip_spins(cues, WRONG, generator=generator), memory


def cases(quick: bool) -> Iterator[Case]:
    """Few and many probes at once; the classical network with few memories, the exponential one with many."""
    for n in (1, 8) if quick else (1, 16, 256):
        for measures, ways, m in (("classical", classical, 8), ("exponential", exponential, 200)):
            yield Case({"n": n, "m": m, "d": SPINS, "wrong": WRONG}, measures, ways(*tensors(n, m)))


ENTRY = Entry(
    title="Asynchronous retrieval until nothing changes, float64",
    contestants={
        "vectorised": "attnlib.classical_recall or dense_recall, all probes at once",
        "probe_by_probe": "the same function, called for each probe",
        "loop": "a plain Python loop over probes and spins, one NumPy product for each spin",
        "products": "lower bound: the states times the couplings or memories, once",
    },
    reference="vectorised",
    cases=cases,
    bounds=("products",),
)
