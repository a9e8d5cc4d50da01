"""Public fields of a release, each said once: for reports, JSON and ledgers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

PUBLIC_FIELDS: Mapping[str, str] = {
    "n": "rows",
    "p": "columns",
    "n_features": "features to choose from",
    "support_size": "features in a release",
    "complexity": "complexity of the prior over sizes",
    "x_bound": "features are clipped to ±",
    "y_bound": "the target is clipped to ±",
    "coef_bound": "largest length of the coefficients",
    "ridge": "ridge",
    "loss": "loss",
    "unit_rule": "of several rows of one unit counts",
    "weight": "survey weight of a row",
    "weight_bound": "weights are clipped to 0 and",
    "score": "score",
    "block_rows": "rows of a block",
    "partitions": "partitions into blocks",
    "sensitivity": "sensitivity",
    "target_scale": "half the range of the target",
    "target_offset": "middle of the range of the target",
    "pool_size": "supports in the pool",
    "tolerance": "tolerance, in units of the sensitivity",
    "top_k": "choice of the best",
    "alpha": "weight of the Lasso",
    "blocks": "blocks",
    "mcmc_steps": "steps of the chain",
    "mcmc_radius": "radius of the coefficients of the chain",
    "selection_share": "share of ε for the features",
    "model_loss": "loss of the model",
    "model_coef_bound": "largest length of its coefficients",
    "quality_share": "share of the rows that is kept apart from the fit",
}
"""What a number or word is called, with its unit, by its key in a report. A bound may be a list of
numbers, one for every feature."""

OF_THE_ROWS = ("n", "sensitivity")
"""Those from which the number of rows follows: it is private under add-remove."""


def public_settings(report: Mapping[str, Any], *, hides_n: bool) -> dict[str, Any]:
    """Return the public settings in a report of a release, sizes and solver as texts."""
    hidden = OF_THE_ROWS if hides_n else ()
    known = {name: report.get(name) for name in PUBLIC_FIELDS if name not in hidden}
    if (sizes := report.get("sizes")) is not None:
        known["sizes"] = ",".join(map(str, sizes))
    if (solver := report.get("solver")) is not None:
        known["solver"] = f"{solver['name']} {solver['version']}"
    return {name: value for name, value in known.items() if value is not None}


NOTED = (
    *("command", "instance", "data", "schema", "target", "mipselect", "method", "epsilon"),
    *("features_of", "ranges"),
)
"""What a ledger notes besides public settings, by the keys of a report."""


def noted(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger notes of a report of a release: what is public and short, never n."""
    told = {key: report[key] for key in NOTED if report.get(key) is not None}
    told |= public_settings(report, hides_n=True)
    if "schema" in told:
        told["schema_sha256"] = sha256(Path(told["schema"]).read_bytes()).hexdigest()
    told |= {key: Path(told[key]).name for key in ("data", "schema") if key in told}
    if report.get("features") is not None:
        told["features_sha256"] = sha256(json.dumps(report["features"]).encode()).hexdigest()
    return told


def in_words(name: str, value: Any) -> str:
    """Say a public setting, by its key in a report."""
    words = PUBLIC_FIELDS.get(name, name)
    if isinstance(value, list | tuple):
        return f"{words}: {min(value):.15g} to {max(value):.15g}, by feature"
    return f"{words}: {value if isinstance(value, str) else f'{value:.15g}'}"
