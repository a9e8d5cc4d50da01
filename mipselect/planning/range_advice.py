"""Advice on ranges of numbers for a model: typical ones that are stated, or private ones."""

from __future__ import annotations

from collections.abc import Sequence

from mipselect.tables import PublicMap
from mipselect.tables.encoders import Scaled, Unscaled
from mipselect.validation import joined

TIE = 5_000
"""Rows times ε from which private ranges come near stated ones, as measured in
docs/regression.md: of five tables with 1,500, 2,000 and 5,000 private ones have 0.65, 0.69 and 0.77
of the R² of ranges twice the span of the data."""


def range_advice(public: PublicMap, rows: int, epsilons: Sequence[float]) -> str:
    """Say at which ε private ranges are worth a thought; nothing for a table without numbers.

    Parameters
    ----------
    public : PublicMap
    rows : int
    epsilons : sequence of float
        ε of features and coefficients together.
    """
    encoders = (*public.encoders, public.target.encoder)
    if not any(isinstance(encoder, Scaled | Unscaled) for encoder in encoders):
        return ""
    enough = sorted(epsilon for epsilon in epsilons if rows * epsilon >= TIE)
    few = sorted(epsilon for epsilon in epsilons if rows * epsilon < TIE)
    parts = []
    if enough:
        parts.append(
            f"at ε = {_listed(enough)} private ranges (--ranges private of fit) are for those who "
            "can state none: they are no better than ranges twenty times the span of the data, and "
            "far worse where a number has a long tail"
        )
    if few:
        parts.append(
            f"at ε = {_listed(few)} do not draw them: with less than {TIE:,} rows times ε private "
            "ranges lose three tenths of the R² of ranges twice the span, or more"
        )
    return f"Which ranges? Typical ones, if anyone can state them; {'; '.join(parts)}."


def _listed(epsilons: Sequence[float]) -> str:
    return joined([f"{epsilon:g}" for epsilon in epsilons])
