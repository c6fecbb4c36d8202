"""attnlib: attention as the response of a physical system to data.

One rule: what a chapter makes public, attnlib offers too. So ``from attnlib import MeanFieldAttention, tap`` and ``from
attnlib.mean_field import MeanFieldAttention, tap`` are the same. Importing attnlib loads torch and numpy and nothing heavier;
what teaches with it, ``attnlib.course``, comes with the extra ``attnlib[book]``.
"""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

import attnlib.attention as _attention
import attnlib.free_energy as _free_energy
import attnlib.hopfield as _hopfield
import attnlib.kinetic as _kinetic
import attnlib.mean_field as _mean_field
import attnlib.message_passing as _message_passing
import attnlib.softmax as _softmax
import attnlib.solve as _solve
import attnlib.transformer as _transformer
from attnlib._core.convergence import ConvergenceError, ConvergenceWarning
from attnlib._core.values import no_value_checks
from attnlib.attention import *
from attnlib.free_energy import *
from attnlib.hopfield import *
from attnlib.kinetic import *
from attnlib.mean_field import *
from attnlib.message_passing import *
from attnlib.softmax import *
from attnlib.solve import *
from attnlib.transformer import *

try:
    __version__ = _version("attnlib")
except _NotInstalled:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["ConvergenceError", "ConvergenceWarning", "no_value_checks"]
__all__ += _solve.__all__
__all__ += _softmax.__all__
__all__ += _attention.__all__
__all__ += _hopfield.__all__
__all__ += _mean_field.__all__
__all__ += _free_energy.__all__
__all__ += _message_passing.__all__
__all__ += _kinetic.__all__
__all__ += _transformer.__all__
