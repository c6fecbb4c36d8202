"""How much an associative memory holds: trials of random patterns and spoiled cues, and sweeps over many of them."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count
from attnlib._core.extras import extra
from attnlib.course.data import flip_spins, random_patterns
from attnlib.hopfield import dense_recall

_OVERLAPS_AT_ONCE = 2**22
"""Cues are recalled in pieces with so many overlaps with the memories: 16 MiB in float32."""


def storage_trial(
    m: int,
    d: int,
    *,
    degree: int | Literal["exp"],
    flips: int = 0,
    probes: int | None = None,
    mode: Literal["asynchronous", "synchronous"] = "asynchronous",
    max_steps: int = 50,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "probes"]:
    """Store m random patterns of d spins, turn ``flips`` spins of some, recall them: overlaps with the originals, in [-1, 1].

    Args:
        m, d: number of patterns, number of spins.
        degree, mode, max_steps: as in :func:`attnlib.hopfield.dense_recall`; degree 2 is the classical network.
        flips: how many spins of each cue are wrong.
        probes: how many of the patterns are tried, default all.
        seed: of the patterns, the flips and the order of the visits.
        dtype: whole numbers up to ``2 ** 24`` are exact in the default, float32.

    Returns:
        ``[probes]``: 1 where a pattern came back without an error.

    Raises:
        ValueError: as :func:`attnlib.hopfield.dense_recall`; also ``probes`` outside 1 to m, ``flips`` outside 0 to d.

    >>> storage_trial(4, 200, degree=2, flips=20).mean()  # few patterns: every one comes back
    tensor(1.)
    >>> storage_trial(100, 200, degree=2, flips=20).mean() < 0.9  # too many
    tensor(True)
    """
    m = check_count("m", m)
    generator = torch.Generator().manual_seed(check_count("seed", seed, least=-(2**63), most=2**64 - 1))
    memory = random_patterns(m, d, generator=generator, dtype=dtype)
    probes = m if probes is None else check_count("probes", probes)
    if probes > m:
        raise ValueError(f"probes is {probes}; expected at most m, {m}")
    wanted = memory[:probes]
    cue = flip_spins(wanted, flips, generator=generator)
    pieces = cue.split(max(1, _OVERLAPS_AT_ONCE // m))
    recalled = [
        dense_recall(piece, memory, degree=degree, mode=mode, max_steps=max_steps, generator=generator) for piece in pieces
    ]
    return (torch.cat([found.state for found in recalled]) * wanted).mean(-1)


def storage_sweep(trials: Sequence[Mapping[str, Any]], *, jobs: int | None = None) -> list[Float[Tensor, "probes"]]:
    """Run many :func:`storage_trial` through joblib, on one core, on all cores or on a Dask cluster; needs ``attnlib[book]``.

    Inside ``joblib.parallel_config(backend="dask")``, with a ``dask.distributed.Client`` at hand, the same call runs on its
    cluster. Every trial has its own seed, so the numbers do not depend on where it ran.

    Args:
        trials: arguments of :func:`storage_trial`, one mapping each.
        jobs: how many at a time, joblib's ``n_jobs``; default what the surrounding ``parallel_config`` says, else 1.

    Returns:
        What each trial returns, ``[probes]``, in the order of the trials.

    Raises:
        ValueError: as :func:`storage_trial`; also trials with other arguments, ``jobs = 0``.

    >>> few, many = storage_sweep([{"m": m, "d": 100, "degree": 3, "seed": m} for m in (5, 10)])
    >>> few.shape, many.shape
    (torch.Size([5]), torch.Size([10]))
    """
    if jobs is not None and check_count("jobs", jobs, least=-(2**31)) == 0:
        raise ValueError("jobs is 0; expected a number of jobs, or None")
    if not isinstance(trials, Sequence) or not all(isinstance(trial, Mapping) for trial in trials):
        raise ValueError(f"trials is {trials!r:.60}; expected a sequence of mappings, arguments of storage_trial")
    for trial in trials:
        try:
            signature(storage_trial).bind(**trial)
        except TypeError as error:
            raise ValueError(f"trials has {dict(trial)}: {error}; expected arguments of storage_trial") from None
    with extra("attnlib.course.models.storage_sweep"):
        from joblib import Parallel, delayed

    try:
        return cast("list[Tensor]", Parallel(n_jobs=jobs)(delayed(storage_trial)(**trial) for trial in trials))
    except ValueError as error:
        raise ValueError(f"trials has one that cannot be run: {error}") from error
