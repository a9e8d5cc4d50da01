"""Every experiment, in the order of the papers."""

from __future__ import annotations

from mipselect.errors import InvalidInput

from ..canonical.counts import COUNTS, THRESHOLDS
from ..canonical.noises import NOISE
from ..canonical.zipf import ZIPF
from ..heterogeneous.introduction import INTRODUCTION
from ..heterogeneous.patience import PATIENCE
from ..heterogeneous.scenarios import (
    CONSTANT_SCENARIOS,
    RANDOM_SCENARIOS,
)
from ..kendall.copies import COPIES
from ..kendall.regression import REGRESSION
from ..mip.ablations import (
    ABLATION_BOUND,
    ABLATION_R,
    ABLATION_RADIUS,
    ABLATION_RIDGE,
)
from ..mip.epsilon import BY_EPSILON
from ..mip.figure_1 import FIGURE_1A, FIGURE_1B, FIGURE_1B_LARGE
from ..mip.prediction import PREDICTION
from ..mip.recovery import (
    BY_P,
    BY_RHO,
    BY_SIZE,
    BY_SNR,
    BY_VERY_LARGE_P,
)
from ..sis.accuracy import ACCURACY, SYNTHETIC
from ..sis.blocks import BLOCKS
from ..sis.instability import INSTABILITY
from ..sis.order import ORDER
from ..sis.table import TABLE_1
from .declared import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    FIGURE_1A,
    BY_EPSILON,
    FIGURE_1B,
    FIGURE_1B_LARGE,
    PREDICTION,
    ABLATION_R,
    ABLATION_RIDGE,
    ABLATION_BOUND,
    ABLATION_RADIUS,
    BY_SIZE,
    BY_SNR,
    BY_RHO,
    BY_P,
    BY_VERY_LARGE_P,
    INSTABILITY,
    TABLE_1,
    SYNTHETIC,
    ACCURACY,
    BLOCKS,
    ORDER,
    COUNTS,
    THRESHOLDS,
    ZIPF,
    NOISE,
    CONSTANT_SCENARIOS,
    RANDOM_SCENARIOS,
    INTRODUCTION,
    PATIENCE,
    REGRESSION,
    COPIES,
)


def experiment_named(name: str) -> Experiment:
    """Return the experiment of this name, or raise `InvalidInput`."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise InvalidInput(f"experiment {name!r} is unknown; known: all, {known}")
