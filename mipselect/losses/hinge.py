"""The hinge loss ℓ(y, u) = max(0, 1 - yu) of two classes, y = -1 or +1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.losses.classes import Classes, class_signs, sorted_classes
from mipselect.validation import set_fields


@dataclass(frozen=True)
class HingeLoss(BoxDualLoss):
    """ℓ(y, u) = max(0, 1 - yu); dual box yα ∈ [0, 1].

    Parameters
    ----------
    classes : sequence of two values, optional
        Public: two texts, or two numbers or truth values; in sorted order they become -1 and +1.
        Then a row whose label is neither, whatever it is, has no class and no features: its loss
        is 1 whatever is chosen, and nothing is raised because of it. Without them the classes are
        those of y.

    Examples
    --------
    >>> from mipselect.losses import HingeLoss
    >>> HingeLoss().spread(1.0, 0.25), HingeLoss().spread(1.0, 3.0)
    (0.5, 4.0)
    """

    classes: Classes | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.classes is not None:
            set_fields(self, classes=sorted_classes(self.classes))

    @property
    def name(self) -> str:
        """hinge."""
        return "hinge"

    def box(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return [0, 1] for the class +1 and [-1, 0] for -1."""
        return np.minimum(y, 0.0), np.maximum(y, 0.0)

    def spread(self, y_bound: float, u_bound: float) -> float:
        """Compute 1 + U - max(0, 1 - U); the labels are ±1 whatever `y_bound` is."""
        # Written so that nothing cancels for small U.
        return min(2.0 * u_bound, 1.0 + u_bound)

    def largest(self, y_bound: float, u_bound: float) -> float:
        """Return 1 + U."""
        return 1.0 + u_bound

    def encode(self, y: ArrayLike) -> tuple[ArrayLike, tuple[str, str] | None]:
        """Map two classes to -1 and +1 in sorted order; 0 is a row without a public class.

        Raises
        ------
        InvalidInput
            Where there are not exactly two classes, and none were given as public.
        """
        if self.classes is not None:
            first, second = self.classes
            return class_signs(y, self.classes), (str(first), str(second))
        labels = np.asarray(y)
        if labels.ndim != 1 or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            return y, None
        if labels.dtype.kind == "O":
            for row, label in enumerate(labels):
                if label is None or label != label:
                    raise InvalidInput(f"y must have a class in every row: row {row} holds {label}")
            labels = np.array([str(label) for label in labels])
        classes = np.unique(labels)
        if len(classes) == 2:
            signs = np.where(labels == classes[1], 1.0, -1.0)
            return signs, (str(classes[0]), str(classes[1]))
        wanted = (
            f"the {self.name} loss needs y of two classes, such as 0 and 1, -1 and 1, or two names"
        )
        if len(classes) < 2:
            raise InvalidInput(f"{wanted}; all {len(labels)} rows have the same")
        row = int(np.flatnonzero(~np.isin(labels, classes[:2]))[0])
        raise InvalidInput(
            f"{wanted}; y has {len(classes)} different values, and row {row} another one than the "
            "first two in order"
        )
