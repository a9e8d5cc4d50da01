"""From what a method draws from to its mechanism, whichever of the two kinds it is."""

from __future__ import annotations

from mipselect.instance import Instance
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.methods.base import PrivateMethod, Rows, RowsMethod, SupportMethod
from mipselect.methods.summed import SummedRows
from mipselect.privacy.randomness import Rng
from mipselect.search.progress import ProgressCallback


def mechanism_of(
    given: Instance | Rows | SummedRows,
    method: PrivateMethod,
    rng: Rng = None,
    progress: ProgressCallback | None = None,
) -> Mechanism[Support]:
    """The law of supports that a method makes of what it draws from; nothing is drawn yet.

    See `SupportMethod.mechanism` and `RowsMethod.mechanism`.
    """
    match method, given:
        case SupportMethod(), Instance():
            return method.mechanism(given, progress)
        case RowsMethod(), Rows() | SummedRows():
            return method.mechanism(given, rng)
    raise TypeError(f"{type(method).__name__} does not draw from {type(given).__name__}")
