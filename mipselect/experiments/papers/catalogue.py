"""Every experiment, in the order of the papers."""

from __future__ import annotations

from mipselect.errors import InvalidInput
from mipselect.experiments.papers.canonical_counts import COUNTS, THRESHOLDS
from mipselect.experiments.papers.canonical_noises import NOISE
from mipselect.experiments.papers.canonical_zipf import ZIPF
from mipselect.experiments.papers.declared import Experiment
from mipselect.experiments.papers.heterogeneous import (
    CONSTANT_SCENARIOS,
    RANDOM_SCENARIOS,
)
from mipselect.experiments.papers.heterogeneous_introduction import INTRODUCTION
from mipselect.experiments.papers.heterogeneous_patience import PATIENCE
from mipselect.experiments.papers.kendall_copies import COPIES
from mipselect.experiments.papers.kendall_regression import REGRESSION
from mipselect.experiments.papers.mip_ablations import (
    ABLATION_BOUND,
    ABLATION_R,
    ABLATION_RADIUS,
    ABLATION_RIDGE,
)
from mipselect.experiments.papers.mip_figure_1 import FIGURE_1A, FIGURE_1B, FIGURE_1B_LARGE
from mipselect.experiments.papers.mip_prediction import PREDICTION
from mipselect.experiments.papers.mip_recovery import (
    BY_P,
    BY_RHO,
    BY_SIZE,
    BY_SNR,
    BY_VERY_LARGE_P,
)
from mipselect.experiments.papers.sis_accuracy import ACCURACY, SYNTHETIC
from mipselect.experiments.papers.sis_instability import INSTABILITY
from mipselect.experiments.papers.sis_order import ORDER
from mipselect.experiments.papers.sis_table import TABLE_1

EXPERIMENTS: tuple[Experiment, ...] = (
    FIGURE_1A,
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
