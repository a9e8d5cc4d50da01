"""Export of a whole model as a file, for a solver that is not installed here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.docstrings import completed_by
from mipselect.errors import InvalidInput
from mipselect.exchange.linear import linear_model
from mipselect.exchange.model_files import checked_ending, write_model
from mipselect.exchange.settings import UNITS, SolverSettings
from mipselect.problem.instance import Instance
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.grouping import FeatureProblem
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.monolithic.formulations import Form, Formulation, LeastSquaresModels
from mipselect.search.monolithic.whole import models_of
from mipselect.search.options import SearchOptions
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_choice

MOST_TERMS = 10**7
"""Terms of the largest model that is built: about a minute and up to five gigabytes of memory."""

SENSITIVE_FILE = (
    "SENSITIVE: made from the data without any privacy; it holds the data or sums of them.",
    "Do not publish, share or store it where the data themselves must not be.",
)


@dataclass(frozen=True)
class ExportedModel:
    """Facts about a model that was written; the file is sensitive.

    Attributes
    ----------
    path : Path
    formulation : Formulation
    columns, rows, binaries : int
        Size of the model.
    unit : float
        c: the model minimises c·R(S). With it the value of no features is 1000.
    settings : SolverSettings
        Tolerances to solve it with.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> from mipselect.exchange import export_model
    >>> exported = export_model(load_instance("tiny-plain"), "model.mps")
    >>> exported.columns, exported.binaries
    (32, 8)
    """

    path: Path
    formulation: Formulation
    columns: int
    rows: int
    binaries: int
    unit: float
    settings: SolverSettings


@completed_by(SearchOptions)
@np.errstate(all="ignore")
def export_model(
    instance: Instance,
    path: str | Path,
    *,
    formulation: str = "perspective",
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> ExportedModel:
    """Write the model of the best support as a file that other solvers read. It is sensitive.

    Feature j is chosen where the column ``zj`` is at one, and the objective is c·R(S).

    Parameters
    ----------
    instance : Instance
        Also one of blocks of rows, or of moments.
    path : str or Path
        Ends in .mps or .lp. The file is written whole or not at all, for its owner only.
    formulation : {"perspective", "big-m", "cuts", "whole"}
        "perspective" has rotated cones, "big-m" a quadratic objective and one quadratic row; both
        are for the squared, the hinge and the quantile loss. "cuts" is linear, for any loss: the
        cuts that prove the optimum, which a search finds first. "whole" is "perspective".

    Returns
    -------
    ExportedModel

    Raises
    ------
    NotCertified
        With "cuts": the search, or its cuts, prove nothing within the time limit.
    InvalidInput
    OSError
        If the file cannot be written; then nothing was.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1; docs/mathematics/cuts.md, (14).

    Examples
    --------
    >>> from mipselect import load_instance
    >>> from mipselect.exchange import export_model
    >>> exported = export_model(load_instance("diabetes"), "model.lp", formulation="cuts")
    >>> print(exported.path.read_text().splitlines()[0][:11])
    \\ SENSITIVE
    >>> exported.settings.linear
    True
    """
    chosen = Formulation(checked_choice(formulation, "formulation", list(map(str, Formulation))))
    options = SearchOptions(tolerance=tolerance, time_limit=time_limit, progress=progress)
    path = Path(path)
    checked_ending(path)
    unit = unit_of(instance.prepared)
    linear = chosen is Formulation.CUTS
    if linear:
        model = linear_model(instance, options).build(unit)
    else:
        form = Form.BIG_M if chosen is Formulation.BIG_M else Form.PERSPECTIVE
        try:
            models = models_of(instance)
        except InvalidInput as error:
            raise InvalidInput(f"{error}; the formulation cuts takes any loss") from error
        if (terms := models.terms(form)) > MOST_TERMS:
            raise InvalidInput(
                f"the formulation {form.value} has {terms:,} terms here, and no more than "
                f"{MOST_TERMS:,} are written; export the formulation cuts"
            )
        model = models.build(instance.support_size, form, unit)
    exported = ExportedModel(
        path,
        chosen,
        *_size(model),
        binaries=len(model.z),
        unit=unit,
        settings=SolverSettings.of_model(linear=linear),
    )
    write_model(model, path, _head(exported, instance.support_size))
    return exported


def unit_of(problem: PreparedLoss) -> float:
    """Return c, with which the mean loss of the prediction 0 is 1000; 1 where that is zero."""
    columns = problem.columns if isinstance(problem, FeatureProblem) else problem
    if isinstance(problem, PreparedSquared):
        baseline = LeastSquaresModels(problem).baseline
    elif isinstance(columns, PreparedBoxDual):
        baseline = float(columns.at_zero / columns.n)
    else:
        baseline = float(problem.values(np.empty((1, 0), dtype=np.intp))[0])
    return UNITS / baseline if baseline > 0.0 else 1.0


def _size(model: Any) -> tuple[int, int]:
    """Return how many columns and rows a Pyomo model has."""
    import pyomo.environ as pyo

    columns = sum(len(each) for each in model.component_objects(pyo.Var))
    return columns, sum(len(each) for each in model.component_objects(pyo.Constraint))


def _head(exported: ExportedModel, support_size: int) -> list[str]:
    """Return the comment at the top of the file."""
    return [
        *SENSITIVE_FILE,
        f"Best subset selection by mipselect {version('mipselect')}, formulation "
        f"{exported.formulation.value}.",
        f"Minimise c R(S) over all sets S of {support_size} features; c = {exported.unit!r}.",
        "Feature j is in S where the column zj is at one; features count from 0.",
        f"Solve with: {exported.settings.in_words}. By solver:",
        *(
            f"{solver}: " + ", ".join(f"{name} = {value:g}" for name, value in options.items())
            for solver, options in exported.settings.of_solvers.items()
        ),
        "Then: mipselect import-solution INSTANCE SOLUTION",
    ]
