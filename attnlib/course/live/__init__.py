"""Live figures: widgets in Jupyter and Colab, and without a kernel on the pages of the book. Needs ``attnlib[book]``."""

from attnlib.course.live._figure import FigureError, LiveFigure
from attnlib.course.live.alignment_film import AlignmentFilm
from attnlib.course.live.arrow_film import ArrowFilm
from attnlib.course.live.ball_and_bound import BallAndBound
from attnlib.course.live.block_stack import BlockStack
from attnlib.course.live.context_lab import ContextLab
from attnlib.course.live.couplings_film import CouplingsFilm
from attnlib.course.live.denoiser import Denoiser
from attnlib.course.live.digit_recall import DigitRecall
from attnlib.course.live.factor_lab import FactorLab
from attnlib.course.live.flatland import Flatland
from attnlib.course.live.graph_lab import GraphLab
from attnlib.course.live.hop_lab import HopLab
from attnlib.course.live.iteration import Iteration
from attnlib.course.live.mapper import Mapper
from attnlib.course.live.saddle_explorer import SaddleExplorer
from attnlib.course.live.score_lab import ScoreLab
from attnlib.course.live.softmax_thermometer import SoftmaxThermometer
from attnlib.course.live.spin_lab import SpinLab
from attnlib.course.live.tokens_as_fields import TokensAsFields
from attnlib.course.live.two_films import TwoFilms
from attnlib.course.live.walker import Walker

__all__ = [
    "AlignmentFilm",
    "ArrowFilm",
    "BallAndBound",
    "BlockStack",
    "ContextLab",
    "CouplingsFilm",
    "Denoiser",
    "DigitRecall",
    "FactorLab",
    "FigureError",
    "Flatland",
    "GraphLab",
    "HopLab",
    "Iteration",
    "LiveFigure",
    "Mapper",
    "SaddleExplorer",
    "ScoreLab",
    "SoftmaxThermometer",
    "SpinLab",
    "TokensAsFields",
    "TwoFilms",
    "Walker",
]
