"""Entries of a privacy card on a model: its features, each coefficient and how to read it."""

from __future__ import annotations

from collections.abc import Sequence

from mipselect.cli.card_parts import Entry
from mipselect.cli.quality import rows_in_words
from mipselect.quality import Quality
from mipselect.regression import ModelRelease

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

OF_NUMBERS = "In units of the target"
OF_ODDS = "Added to the logarithm of the odds of the class, which it multiplies by the number shown"
"""How to read a coefficient."""


def of_a_model(model: ModelRelease, about: str) -> list[Entry]:
    """The released model; `about` says what it explains."""
    features = Entry("Features", ", ".join(chosen(model.support, model.feature_names)))
    if not model.has_model:
        product = f"Names of fields{about}; no coefficients, for the private test failed."
        return [Entry("Data product", product), features]
    rule = model.in_units
    terms = [term for term in rule.terms if not term.aside]
    fields = list(dict.fromkeys(term.field for term in terms))
    return [
        Entry("Data product", f"A linear model of fields{about}: which fields, and coefficients."),
        features,
        Entry("Model", f"{rule.aim} = {rule.intercept:.6g}, and added to it:"),
        *(
            Entry(
                f"Coefficients of {name}",
                "; ".join(
                    f"{term.coefficient:+.6g}: {term.meaning}{rule.odds_of(term)}"
                    for term in terms
                    if term.field == name
                ),
            )
            for name in fields
        ),
        *([Entry("Not listed here", f"{rule.left_out}.")] if rule.left_out else []),
        *([] if model.quality is None else of_a_quality(model.quality)),
        Entry(
            "How to read a coefficient",
            f"{OF_ODDS if rule.log_odds else OF_NUMBERS}, with noise for privacy beside the error "
            "of any sample. A number counts within its public range, and as the middle of it where "
            "it is missing.",
        ),
    ]


def of_a_quality(quality: Quality) -> list[Entry]:
    """How good the model is, the verdict first."""
    return [
        Entry(f"Quality on {rows_in_words(quality)}", quality.lines[0]),
        *(Entry("Quality", text) for text in quality.lines[1:]),
    ]


def chosen(support: Sequence[int], names: Sequence[str]) -> list[str]:
    """Features by their names and numbers."""
    if not names:
        return [str(j) for j in support]
    return [f"{name} ({j})" for j, name in zip(support, names, strict=True)]
