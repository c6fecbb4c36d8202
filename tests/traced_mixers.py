"""Every mixer through torch's tracers. Run by test_traced.py, without the run-time checks of shapes."""

import test_mixers
from mixer_suite import MixerSuite, TracedSuite

for name, suite in vars(test_mixers).copy().items():
    if isinstance(suite, type) and issubclass(suite, MixerSuite) and suite is not MixerSuite:
        globals()[name] = type(name, (TracedSuite,), {"kind": suite.kind, "settings": suite.settings, "exports": suite.exports})

del suite, name, MixerSuite, TracedSuite
