"""Kinds of arrays and outcomes, as they are used throughout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
Support = tuple[int, ...]
"""Chosen features, sorted."""
