"""Types of the arrays that pass between packages; docstrings give their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
ScoreArray = NDArray[Any]
"""Scores as doubles, or as Python numbers where doubles would round them."""
