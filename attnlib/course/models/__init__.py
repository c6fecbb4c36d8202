"""Models that the pages train, what teaches and judges them, and trials of associative memories."""

from attnlib.course.models.alignment import alignment_error_rate, bleu, links
from attnlib.course.models.evaluation import Evaluation, Judging, evaluate
from attnlib.course.models.memory import Hops, MemoryNetwork, multi_hop
from attnlib.course.models.pictures import PatchClassifier, patches
from attnlib.course.models.seq2seq import DecodingRecord, Seq2Seq
from attnlib.course.models.storage import storage_sweep, storage_trial
from attnlib.course.models.training import Teaching, teach, teach_labels

__all__ = [
    "DecodingRecord",
    "Evaluation",
    "Hops",
    "Judging",
    "MemoryNetwork",
    "PatchClassifier",
    "Seq2Seq",
    "Teaching",
    "alignment_error_rate",
    "bleu",
    "evaluate",
    "links",
    "multi_hop",
    "patches",
    "storage_sweep",
    "storage_trial",
    "teach",
    "teach_labels",
]
