"""Public fields of a release, each said once: for reports, JSON and ledgers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PublicField:
    """A public number or word of a release, by its key in a report.

    Attributes
    ----------
    kind : type
        int, float or str. A float may be a list of numbers, one for every feature.
    words : str
        What a report calls it, with its unit.
    of_the_rows : bool
        Whether the number of rows follows from it: it is private under add-remove.
    """

    kind: type
    words: str
    of_the_rows: bool = False


PUBLIC_FIELDS: Mapping[str, PublicField] = {
    "n": PublicField(int, "rows", of_the_rows=True),
    "p": PublicField(int, "columns"),
    "n_features": PublicField(int, "features to choose from"),
    "support_size": PublicField(int, "features in a release"),
    "complexity": PublicField(float, "complexity of the prior over sizes"),
    "x_bound": PublicField(float, "features are clipped to ±"),
    "y_bound": PublicField(float, "the target is clipped to ±"),
    "coef_bound": PublicField(float, "largest length of the coefficients"),
    "ridge": PublicField(float, "ridge"),
    "loss": PublicField(str, "loss"),
    "unit_rule": PublicField(str, "of several rows of one unit counts"),
    "weight": PublicField(str, "survey weight of a row"),
    "weight_bound": PublicField(float, "weights are clipped to 0 and"),
    "score": PublicField(str, "score"),
    "block_rows": PublicField(int, "rows of a block"),
    "partitions": PublicField(int, "partitions into blocks"),
    "sensitivity": PublicField(float, "sensitivity", of_the_rows=True),
    "target_scale": PublicField(float, "half the range of the target"),
    "target_offset": PublicField(float, "middle of the range of the target"),
    "pool_size": PublicField(int, "supports in the pool"),
    "tolerance": PublicField(float, "tolerance, in units of the sensitivity"),
    "top_k": PublicField(str, "choice of the best"),
    "alpha": PublicField(float, "weight of the Lasso"),
    "blocks": PublicField(int, "blocks"),
    "mcmc_steps": PublicField(int, "steps of the chain"),
    "mcmc_radius": PublicField(float, "radius of the coefficients of the chain"),
    "model_loss": PublicField(str, "loss of the model"),
    "model_coef_bound": PublicField(float, "largest length of its coefficients"),
}


def in_words(name: str, value: Any) -> str:
    """Say a public setting, by its key in a report."""
    words = PUBLIC_FIELDS[name].words if name in PUBLIC_FIELDS else name
    if isinstance(value, list | tuple):
        return f"{words}: {min(value):.15g} to {max(value):.15g}, by feature"
    return f"{words}: {value if isinstance(value, str) else f'{value:.15g}'}"


def public_under(relation: str) -> tuple[str, ...]:
    """Return the fields that are public under a neighbouring relation."""
    hidden = relation != "replace-one"
    return tuple(name for name, it in PUBLIC_FIELDS.items() if not (hidden and it.of_the_rows))
