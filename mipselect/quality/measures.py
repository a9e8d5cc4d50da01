"""`Quality`: what is released of how good a model's predictions are, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mipselect import validation
from mipselect.errors import InvalidInput
from mipselect.privacy.guarantee import Guarantee

LEVEL = 0.9
"""Share of repetitions in which an interval covers what it is about."""

R2, AUC, ACCURACY = "R²", "AUC", "accuracy"
SECOND = "the second class"
SHARE, PREDICTED = f"share of {SECOND}", f"predicted share of {SECOND}"

CHANCE = {R2: 0.0, AUC: 0.5}
"""Value of each measure for a model without any knowledge of the row."""

BETTER = {
    R2: "better than predicting the mean",
    AUC: "better than chance at ordering rows",
}


@dataclass(frozen=True)
class Measure:
    """A measure of predictions: an estimate, and an interval with sampling and noise in it.

    Attributes
    ----------
    name : str
    value : float or None
        None where the noise leaves no estimate.
    low, high : float
        Ends of the interval; ``-inf`` where the noise leaves an end open.

    Examples
    --------
    >>> from mipselect.quality import Measure
    >>> print(Measure("AUC", 0.7, 0.6, 0.8))
    AUC 0.700 in [0.600, 0.800]
    """

    name: str
    value: float | None
    low: float
    high: float

    def __post_init__(self) -> None:
        validation.checked_name(self.name, "the name of a measure")
        for end in (self.low, self.high):
            validation.checked_number(
                end, f"an end of {self.name}", "no NaN", lambda v: not math.isnan(v)
            )
        if self.low > self.high:
            raise InvalidInput(f"the interval of {self.name} is empty")
        if self.value is not None:
            validation.checked_number(self.value, self.name, "a finite number", math.isfinite)

    @property
    def estimate(self) -> float | None:
        """The value; None also where the noise leaves the interval no lower end."""
        return None if math.isinf(self.low) else self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON: None for an end at infinity."""
        ends = [end if math.isfinite(end) else None for end in (self.low, self.high)]
        return {"name": self.name, "value": self.value, "low": ends[0], "high": ends[1]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Measure:
        """Return what `to_dict` wrote."""
        low = -math.inf if stored["low"] is None else stored["low"]
        high = math.inf if stored["high"] is None else stored["high"]
        return cls(stored["name"], stored["value"], low, high)

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.name} unknown, at most {self.high:.3f}"
        return f"{self.name} {self.estimate:.3f} in [{self.low:.3f}, {self.high:.3f}]"


def in_percent(share: float) -> str:
    """Write a share in percent: whole from 10 on, below with two digits, for classes that are rare.

    Examples
    --------
    >>> [in_percent(share) for share in (0.0, 0.00671, 0.016, 0.168, 1.0)]
    ['0', '0.67', '1.6', '17', '100']
    """
    value = 100.0 * share
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.2g}"


@dataclass(frozen=True)
class ShareInBin:
    """Share of the second class among rows whose probability of it lies in (lower, upper].

    Attributes
    ----------
    lower, upper : float
        Ends of the bin, between 0 and 1.
    share : Measure

    Examples
    --------
    >>> from mipselect.quality import Measure, ShareInBin
    >>> print(ShareInBin(0.1, 0.2, Measure("share of the second class", 0.17, 0.12, 0.22)))
    of rows with a probability of 10 to 20 %: 17 % in [12, 22]
    """

    lower: float
    upper: float
    share: Measure

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {"lower": self.lower, "upper": self.upper, "share": self.share.to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ShareInBin:
        """Return what `to_dict` wrote."""
        return cls(stored["lower"], stored["upper"], Measure.from_dict(stored["share"]))

    def __str__(self) -> str:
        value = "unknown" if self.share.value is None else f"{in_percent(self.share.value)} %"
        rows = (
            f"of rows with a probability of {in_percent(self.lower)} to {in_percent(self.upper)} %"
        )
        return f"{rows}: {value} in [{in_percent(self.share.low)}, {in_percent(self.share.high)}]"


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Private release: how good predictions are on rows that the model was not fitted to.

    Attributes
    ----------
    measures : tuple of Measure
        For numbers R²; for two classes the AUC, the accuracy at one half, and the true and the
        predicted share of the second class.
    guarantee : Guarantee
        Guarantee of these numbers alone.
    rows : int or None
        How many rows they are about; None where their number is private.
    share : float or None
        Share of the rows of the fit that was kept apart for it; None for a table that was given
        for it, which may be that of the fit.
    clip : float or None
        Clipping of R²: errors and distances from the mean count up to ± this, in the units of the
        target.
    bins : tuple of ShareInBin
        Calibration of probabilities.
    matching_threshold : float or None
        The probability above which about as many rows lie as have the second class; None where the
        noise leaves none.
    second_class : str or None
        The second class in words, such as "ill=yes", where it has a name.
    level : float
        In this share of repetitions an interval covers what it is about.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.quality import Measure, Quality
    >>> found = Quality(measures=(Measure("R²", 0.1, -0.2, 0.4),), guarantee=Guarantee(1.0))
    >>> found.beats_chance
    False
    >>> print(found)
    Not known to be better than predicting the mean: R² 0.100 in [-0.200, 0.400] (90 % interval).
    """

    measures: tuple[Measure, ...]
    guarantee: Guarantee
    rows: int | None = None
    share: float | None = None
    clip: float | None = None
    bins: tuple[ShareInBin, ...] = ()
    matching_threshold: float | None = None
    second_class: str | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        validation.set_fields(self, measures=tuple(self.measures), bins=tuple(self.bins))
        if not self.measures or self.measures[0].name not in CHANCE:
            raise InvalidInput(f"the first measure must be one of {', '.join(CHANCE)}")
        if self.rows is not None:
            validation.checked_integer(self.rows, "rows", 0)
        if self.share is not None:
            validation.checked_share(self.share, "share", closed=False)
        if self.second_class is not None:
            validation.checked_line(self.second_class, "second_class")
        if self.matching_threshold is not None:
            validation.checked_share(self.matching_threshold, "matching_threshold", closed=False)
        validation.checked_share(self.level, "level", closed=False)

    @property
    def first(self) -> Measure:
        """The measure that judges the model."""
        return self.measures[0]

    @property
    def beats_chance(self) -> bool:
        """True if the whole interval of the first measure lies above what needs no model."""
        return self.first.low > CHANCE[self.first.name]

    @property
    def verdict(self) -> str:
        """One sentence about the first measure; without a full stop."""
        said = BETTER[self.first.name]
        said = f"B{said[1:]}" if self.beats_chance else f"Not known to be {said}"
        return f"{said}: {self.first} ({100.0 * self.level:.6g} % interval)"

    @property
    def common(self) -> float | None:
        """Share of the more frequent class, which naming it in every row would reach."""
        share = next((one.value for one in self.measures if one.name == SHARE), None)
        return None if share is None else max(share, 1.0 - share)

    @property
    def lines(self) -> tuple[str, ...]:
        """The verdict, where squares were clipped, other measures, a threshold, and the bins."""
        clip, threshold = self.clip, self.matching_threshold
        of_clip = () if clip is None else (f"Errors and distances count up to ±{clip:.4g}.",)
        of_threshold: tuple[str, ...] = ()
        if threshold is not None:
            above = f"{threshold:.3g}"
            of_threshold = (f"as many are predicted as there are at a threshold of {above}",)
        measures = [str(replace(one, name=self.name_of(one))) for one in self.measures[1:]]
        if self.common is not None:
            measures.append(
                f"naming the more frequent class in every row is right in {self.common:.3f}"
            )
        return (f"{self.verdict}.", *of_clip, *measures, *of_threshold, *map(str, self.bins))

    def name_of(self, one: Measure) -> str:
        """Name a measure in words: which class it is about, and at which threshold."""
        threshold = " at one half" if one.name in (ACCURACY, PREDICTED) else ""
        return f"{one.name.replace(SECOND, self.second_class or SECOND)}{threshold}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; `from_dict` reads them again."""
        return {
            "measures": [one.to_dict() for one in self.measures],
            "bins": [one.to_dict() for one in self.bins],
            "matching_threshold": self.matching_threshold,
            "second_class": self.second_class,
            "level": self.level,
            "rows": self.rows,
            "share": self.share,
            "clip": self.clip,
            "guarantee": self.guarantee.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Quality:
        """Return what `to_dict` wrote, of the shape that the schema of a model states."""
        return cls(
            measures=tuple(map(Measure.from_dict, stored["measures"])),
            bins=tuple(map(ShareInBin.from_dict, stored["bins"])),
            matching_threshold=stored.get("matching_threshold"),
            second_class=stored.get("second_class"),
            level=stored["level"],
            rows=stored["rows"],
            share=stored["share"],
            clip=stored["clip"],
            guarantee=Guarantee.from_dict(stored["guarantee"]),
        )

    def __str__(self) -> str:
        return "\n".join(self.lines)
