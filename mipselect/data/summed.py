"""Problems from moments: sums over a table that need not be here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.data.files import Problem
from mipselect.data.outline import BLANK_ROWS, Outline
from mipselect.instance import Instance
from mipselect.moments import Moments
from mipselect.moments.stored import ONE


def summed_problem(path: Path, moments: Moments, question: Mapping[str, Any]) -> Problem:
    """Make an instance; see `Instance.from_moments`. Its X and y have no rows.

    Parameters
    ----------
    path : Path
        By which the problem is known.
    moments : Moments
    question : mapping
        The other arguments of `Instance.from_moments`.
    """
    made = Instance.from_moments(moments, **question)
    return Problem(
        path,
        np.empty((0, made.p)),
        np.empty(0),
        made.feature_names,
        {"support_size": made.support_size},
        data_seed=None,
        made=made,
    )


def summed_outline(path: Path, moments: Moments, question: Mapping[str, Any]) -> Outline:
    """The same, of sums over rows of zeros; n is that of the moments."""
    zeros = np.zeros_like(moments.folds)
    zeros[0, 0, 0] = BLANK_ROWS * ONE
    made = summed_problem(path, replace(moments, folds=zeros), question)
    return Outline(
        path, moments.n, made.X.shape[1], made.feature_names, made.settings, 0.0, made=made
    )
