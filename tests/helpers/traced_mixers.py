"""Every mixer through torch's tracers. Run by test_traced.py, without the run-time checks of shapes."""

from helpers import mixers
from helpers.mixer_suite import MixerSuite, TracedSuite

suites = [kind for kind in vars(mixers).values() if isinstance(kind, type) and issubclass(kind, MixerSuite)]
# Those that cannot be exported come last: after the attempt torch 2.6 can trace nothing.
for suite in sorted(suites, key=lambda suite: not suite.exports):
    if suite is not MixerSuite:
        parts = {key: getattr(suite, key) for key in ("kind", "exports", "crosses")}
        parts["settings"] = suite.settings | suite.traced
        globals()[f"Test{suite.__name__}"] = type(f"Test{suite.__name__}", (TracedSuite,), parts)

del suites, suite, parts, MixerSuite, TracedSuite
