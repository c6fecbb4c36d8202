"""Live figures: widgets in Jupyter and Colab, and without a kernel on the pages of the book. Needs ``attnlib[book]``."""

from attnlib.live._figure import FigureError, LiveFigure
from attnlib.live.alignment_film import AlignmentFilm
from attnlib.live.ball_and_bound import BallAndBound
from attnlib.live.couplings_film import CouplingsFilm
from attnlib.live.digit_recall import DigitRecall
from attnlib.live.factor_lab import FactorLab
from attnlib.live.flatland import Flatland
from attnlib.live.graph_lab import GraphLab
from attnlib.live.hop_lab import HopLab
from attnlib.live.iteration import Iteration
from attnlib.live.saddle_explorer import SaddleExplorer
from attnlib.live.score_lab import ScoreLab
from attnlib.live.softmax_thermometer import SoftmaxThermometer
from attnlib.live.spin_lab import SpinLab
from attnlib.live.tokens_as_fields import TokensAsFields

__all__ = [
    "AlignmentFilm",
    "BallAndBound",
    "CouplingsFilm",
    "DigitRecall",
    "FactorLab",
    "FigureError",
    "Flatland",
    "GraphLab",
    "HopLab",
    "Iteration",
    "LiveFigure",
    "SaddleExplorer",
    "ScoreLab",
    "SoftmaxThermometer",
    "SpinLab",
    "TokensAsFields",
]
