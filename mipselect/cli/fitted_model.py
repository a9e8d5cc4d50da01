"""A model that `fit` has drawn, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Console

from mipselect.cli.output import NOT_PRIVATE, banner, heading, line
from mipselect.cli.quality import show_quality
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import CoefficientTable, reading_notes

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)

ALL_TERMS = "--all-terms lists them, as the file of --output does"


@dataclass(frozen=True)
class FittedModel:
    """A released model, or features without one, where the private test failed.

    Attributes
    ----------
    model : ModelRelease
    guarantees : mapping
        Guarantees of all and of its parts, as part of a JSON object.
    all_terms : bool
        Whether terms that are usually only counted are printed.
    """

    model: ModelRelease
    guarantees: Mapping[str, Any]
    all_terms: bool

    @property
    def private(self) -> bool:
        """See `DrawnReleases`."""
        return self.model.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `DrawnReleases`."""
        if not self.model.has_model:
            return (NO_MODEL,)
        quality = self.model.quality
        return () if quality is None or quality.beats_chance else (quality.verdict,)

    @cached_property
    def coefficients(self) -> CoefficientTable | None:
        """The rows of the model; None where there is none."""
        return CoefficientTable.of(self.model) if self.model.has_model else None

    def report(self) -> Mapping[str, Any]:
        """See `DrawnReleases`."""
        model, table = self.model, self.coefficients
        intervals = None if table is None else table.intervals
        return {
            "private": model.private,
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.guarantees,
            "has_model": model.has_model,
            "model": model.to_dict(),
            "in_units": None if table is None else table.rule.to_dict(),
            "intervals": None if intervals is None else intervals.to_dict(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

    def show(self, console: Console, title: str, unit: str) -> None:
        """Print the model in the units of its table, and its guarantee."""
        model, table, all_terms = self.model, self.coefficients, self.all_terms
        if not model.private:
            banner(console, NOT_PRIVATE)
        kind = "released model" if model.private else "drawn model, not private"
        heading(console, f"{title}: {kind}")
        line(console, f"Features: {', '.join(model.feature_names)}")
        if table is None:
            line(console, "No model: the private test failed.")
        else:
            notes = reading_notes(table, ALL_TERMS, all_terms=all_terms)
            for text in (*table.lines(all_terms=all_terms), *notes):
                line(console, text)
        for drawn in model.drawn_ranges:
            line(
                console,
                f"Range of {drawn['field']}: {drawn['minimum']:g} to {drawn['maximum']:g}, "
                f"private, drawn with ε = {drawn['epsilon']:.6g}.",
            )
        if model.quality is not None:
            show_quality(console, model.quality)
        for note in model.footnotes:
            line(console, f"Note: {note}.")
        if model.private:
            told = model.guarantee.of_unit(unit)
            line(console, f"Guarantee of features and coefficients: {told}.")
