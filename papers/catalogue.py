"""Every experiment, in the order of the papers."""

from __future__ import annotations

from mipselect.errors import InvalidInput

from . import heterogeneous, kendall
from .canonical import counts
from .experiment import Experiment
from .mip import prediction, recovery
from .sis import accuracy, figures

EXPERIMENTS: tuple[Experiment, ...] = (
    *recovery.FIGURES,
    prediction.PREDICTION,
    *recovery.ABLATIONS,
    *recovery.SETTINGS,
    figures.INSTABILITY,
    figures.TABLE_1,
    accuracy.SYNTHETIC,
    accuracy.ACCURACY,
    figures.ORDER,
    *counts.EXPERIMENTS,
    *heterogeneous.EXPERIMENTS,
    *kendall.EXPERIMENTS,
)


def experiment_named(name: str) -> Experiment:
    """Return the experiment of this name, or raise `InvalidInput`."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise InvalidInput(f"experiment {name!r} is unknown; known: all, {known}")
