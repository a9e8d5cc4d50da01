"""Entries of a privacy card on a model: its features, each coefficient and how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from mipselect.cli.card_parts import Entry
from mipselect.cli.quality import rows_in_words
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import CoefficientTable, reading_notes
from mipselect.tables.equation import INTERCEPT, Term

REGRESSIONS = {
    "objective": "coefficients by objective perturbation: the minimiser of a loss with a random "
    "linear term (Chaudhuri, Monteleoni and Sarwate 2011)",
    "adassp": "coefficients by AdaSSP: least squares from noisy sums of squares and products "
    "(Wang 2018)",
    "boosted-adassp": "coefficients by AdaSSP in rounds on clipped residuals (Tang et al. 2023)",
    "tukey": "coefficients by a private Tukey median of models on blocks of rows (Amin et al. "
    "2023)",
}
"""The regressions of `fit` in words."""


def of_a_model(model: ModelRelease, about: str) -> list[Entry]:
    """Describe the released model; `about` says what it explains."""
    features = Entry("Features", ", ".join(chosen(model.support, model.feature_names)))
    if not model.has_model:
        product = f"Names of fields{about}; no coefficients, for the private test failed."
        return [Entry("Data product", product), features]
    table = CoefficientTable.of(model)
    described = [(_heading(row.term), _described(cells)) for row, cells in table.listed()]
    return [
        Entry("Data product", f"A linear model of fields{about}: which fields, and coefficients."),
        features,
        Entry("Model", table.head),
        *(
            Entry(name, "; ".join(words for _, words in rows))
            for name, rows in groupby(described, key=itemgetter(0))
        ),
        *_private_ranges(model),
        Entry("How to read a coefficient", " ".join(reading_notes(table))),
        *(
            Entry("Quality" if k else f"Quality on {rows_in_words(quality)}", text)
            for quality in filter(None, [model.quality])
            for k, text in enumerate(quality.lines)
        ),
    ]


def _private_ranges(model: ModelRelease) -> list[Entry]:
    """Describe ranges that nobody stated and that were drawn from the rows."""
    drawn = [
        f"{each['field']}: {each['minimum']:g} to {each['maximum']:g}, ε = {each['epsilon']:.6g}"
        for each in model.drawn_ranges
    ]
    return [Entry("Private ranges", "; ".join(drawn))] if drawn else []


def _heading(term: Term) -> str:
    return "Intercept" if term.kind == INTERCEPT else f"Coefficients of {term.field}"


def _described(cells: Sequence[str]) -> str:
    """Write a coefficient, its interval and odds where there are any, and what it is per."""
    *numbers, meaning = (cell for cell in cells if cell)
    return f"{' '.join(numbers)}: {meaning}"


def chosen(support: Sequence[int], names: Sequence[str]) -> list[str]:
    """Write features by their names and numbers."""
    if not names:
        return [str(j) for j in support]
    return [f"{name} ({j})" for j, name in zip(support, names, strict=True)]
