"""Every mixer through torch's tracers. Run by test_traced.py, without the run-time checks of shapes."""

import torch
from helpers import mixers
from helpers.mixer_suite import MixerSuite, TracedSuite

if torch.__version__.startswith("2.6."):
    # There a search of the partitioner walks every path of a loop that was traced, nine times as many with each step; with this
    # it is left out. Torch 2.7 visits each node once.
    from torch._functorch import config

    config.ban_recompute_used_far_apart = False

suites = [kind for kind in vars(mixers).values() if isinstance(kind, type) and issubclass(kind, MixerSuite)]
# Those that cannot be exported come last: after the attempt torch 2.6 can trace nothing.
for suite in sorted(suites, key=lambda suite: not suite.exports):
    if suite is not MixerSuite:
        parts = {key: getattr(suite, key) for key in ("kind", "exports", "crosses")}
        parts["settings"] = suite.settings | suite.traced
        globals()[f"Test{suite.__name__}"] = type(f"Test{suite.__name__}", (TracedSuite,), parts)

del suites, suite, parts, MixerSuite, TracedSuite
