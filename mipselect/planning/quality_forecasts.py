"""`QualityForecast`: how well the quality of a model would be known, from simulated releases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.quality import Quality

OFTEN_ENOUGH = 0.8
"""Share of intervals above what needs no model from which on they tell."""


@dataclass(frozen=True)
class QualityForecast:
    """Qualities that a fit would release with its models, at one ε and number of rows.

    Attributes
    ----------
    qualities : tuple of Quality
        One for each simulated model, measured on the rows that were kept apart from it; None where
        a private test kept the model back, but not for all.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.planning import QualityForecast
    >>> from mipselect.quality import Measure, Quality
    >>> ends = ((-0.1, 0.3), (0.1, 0.3))
    >>> measures = [Measure("R²", 0.2, *pair) for pair in ends]
    >>> found = [Quality(measures=(one,), guarantee=Guarantee(1.0)) for one in measures]
    >>> QualityForecast(tuple(found)).above_chance
    0.5
    """

    qualities: tuple[Quality | None, ...]

    @property
    def half_width(self) -> float:
        """Half of the width of the interval of the first measure, the median.

        ``inf`` where the noise leaves no lower end to more than half of the intervals.
        """
        widths = [one.first.high - one.first.low for one in self.qualities if one is not None]
        return 0.5 * float(np.median(widths))

    @property
    def above_chance(self) -> float:
        """Share of the models whose interval lies above what needs no model."""
        above = sum(one is not None and one.beats_chance for one in self.qualities)
        return above / len(self.qualities)

    @property
    def tells(self) -> bool:
        """True if most intervals tell the model from one without any knowledge of the row."""
        return self.above_chance >= OFTEN_ENOUGH
