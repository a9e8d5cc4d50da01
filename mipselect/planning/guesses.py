"""`Guesses`: assumptions about the rows of a table that nobody has looked at."""

from __future__ import annotations

from dataclasses import dataclass

from mipselect.errors import InvalidInput
from mipselect.tables.encoders import Ranked, Scaled
from mipselect.tables.public_map import PublicMap
from mipselect.validation import checked_number, checked_positive, checked_share


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """Assumptions about the rows; all of them stated, none of them from data.

    Attributes
    ----------
    effect : float
        R² of the columns that matter, together, before the target is clipped to its range;
        between 0 and 1. Cohen (1988, section 9.2) calls 0.02 small, 0.13 medium, 0.26 large.
    correlation : float
        Correlation of any two fields, as normal variables before they are cut into categories; in
        [0, 1).
    repeated : float
        In tables with fields that repeat each other, the R² of these fields, which comes before
        `effect`: the other right columns have that share of what is left. In [0, 1); 0 for no
        such tables.
    missing : float
        Share of missing values in each field that is not `required`; in [0, 1).
    spread : float
        Standard deviation of a number, in halves of its range: 0.25 where the range is four
        standard deviations to either side.
    target_mean, target_sd : float, optional
        Those of a target with a range, in its units; default the middle of the range, and `spread`.
    target_rate : float, optional
        Share of the second of two classes, between 0 and 1; default one half.

    Raises
    ------
    InvalidInput
        Naming the guess that is out of its range.

    Examples
    --------
    >>> from mipselect.planning import Guesses
    >>> Guesses(effect=0.1, target_mean=15.0, target_sd=10.0).correlation
    0.2
    """

    effect: float = 0.3
    correlation: float = 0.2
    repeated: float = 0.8
    missing: float = 0.05
    spread: float = 0.25
    target_mean: float | None = None
    target_sd: float | None = None
    target_rate: float | None = None

    def __post_init__(self) -> None:
        checked_share(self.effect, "effect", closed=True)
        for what in ("correlation", "repeated", "missing"):
            checked_number(
                getattr(self, what), what, "a number from 0 to below 1", lambda v: 0.0 <= v < 1.0
            )
        checked_number(self.spread, "spread", "a number in 0.001..10", lambda v: 1e-3 <= v <= 10.0)
        if self.target_sd is not None:
            checked_positive(self.target_sd, "target_sd")
        if self.target_rate is not None:
            checked_share(self.target_rate, "target_rate", closed=False)

    def target_law(self, public: PublicMap) -> tuple[float, float]:
        """Return mean and deviation of a target before it is clipped; 0 and 1 without a range.

        Raises
        ------
        InvalidInput
            If they are given for a target without a range, the mean is outside of the range, or a
            rate is given for what is not two classes.
        """
        encoder = public.target.encoder
        name = encoder.field.name
        if self.target_rate is not None and public.target.classes is None:
            raise InvalidInput(f"target_rate is for a target of two classes, and {name!r} is none")
        if not isinstance(encoder, Scaled):
            if self.target_mean is not None or self.target_sd is not None:
                has = "none, and scores from blocks do not depend on them"
                if isinstance(encoder, Ranked):
                    has = f"{encoder.levels} categories, which count as equally frequent"
                    has += "; see target_rate" * (encoder.levels == 2)
                raise InvalidInput(
                    f"target_mean and target_sd are for a target with a range; {name!r} has {has}"
                )
            return 0.0, 1.0
        low, high = encoder.low, encoder.high
        mean = 0.5 * (low + high)
        if self.target_mean is not None:
            wanted = f"inside the range of {name!r}, {low:g} to {high:g}"
            mean = checked_number(
                self.target_mean, "target_mean", wanted, lambda v: low <= v <= high
            )
        sd = self.spread * 0.5 * (high - low) if self.target_sd is None else self.target_sd
        return mean, sd
