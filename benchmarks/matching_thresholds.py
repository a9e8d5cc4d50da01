"""Predictions of two classes with as many yes as there are: how many, and how often right.

python -m benchmarks.matching_thresholds FOLDER [--splits 20] [--epsilon 1] [--share 0.2]
    [--tables NAME,...] [--json]

Every split takes a fifth of the rows for the test. "best subset" has no privacy: logistic
regression on fields that are added one by one, and the threshold that as many rows of the fit are
above as are of the second class. "fit" is `SelectThenRegress.fit_table` with its defaults, at ε,
but for the share of the rows that is kept apart: by them its quality says the threshold. Beside
both stands the threshold of one half. Seeded: nothing here is private. Means over the splits;
"within a third" is the share of splits in which the number of predicted yes is within a third of
that of yes, "without" of those whose quality leaves no threshold, which count nowhere else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import logit

from benchmarks.class_tables import class_tables
from benchmarks.released_models import TEST_SHARE, without_privacy
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table
from benchmarks.two_classes import added_one_by_one
from mipselect.regression import ObjectivePerturbationClassifier, SelectThenRegress
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import map_table

NAMES = (
    *("accuracy", "predicted yes", "accuracy, matched", "predicted yes, matched", "yes"),
    "within a third",
)


def judged(truth: np.ndarray, u: np.ndarray, threshold: float) -> list[float]:
    """Accuracy and share of predicted yes above 0 and above a threshold, and the share of yes."""
    yes = truth > 0.0
    found = [each for t in (0.0, threshold) for each in (((u > t) == yes).mean(), (u > t).mean())]
    return [*map(float, found), float(yes.mean())]


def best_subset(
    seen: tuple[np.ndarray, np.ndarray], unseen: tuple[np.ndarray, np.ndarray], columns: list[int]
) -> list[float]:
    """Measures of a model without privacy, with its threshold by the rows that it has seen."""
    (X, y), (judge, truth) = seen, unseen
    both = np.vstack([judge[:, columns], X[:, columns]])
    u = without_privacy(X[:, columns], y, both, classes=True)
    threshold = float(np.quantile(u[len(judge) :], 1.0 - (y > 0.0).mean()))
    return judged(truth, u[: len(judge)], threshold)


def with_quality(
    train: Table, test: Table, size: int, options: argparse.Namespace, seed: int
) -> list[float] | None:
    """Measures of a released model, with the threshold of its quality; None without one."""
    model = SelectThenRegress(
        PermuteAndFlipSelector(size, random_state=seed),
        ObjectivePerturbationClassifier(random_state=seed),
        epsilon=options.epsilon,
        quality_share=options.share,
    ).fit_table(train.frame, train.schema, **train.question)
    threshold = model.quality_.matching_threshold
    if threshold is None:
        return None
    truth = map_table(test.frame, test.schema, **test.question).y
    u = np.asarray(model.release_.decision(test.frame))
    return judged(truth, u, float(logit(threshold)))


def splits(table: Table, options: argparse.Namespace) -> Iterator[tuple[str, list[float] | None]]:
    """Measures of both models for every split."""
    for seed in range(options.splits):
        order = np.random.default_rng(seed).permutation(len(table.frame))
        cut = int(TEST_SHARE * len(order))
        test, train = (table.part(rows) for rows in (order[:cut], order[cut:]))
        seen, unseen = (
            map_table(part.frame, part.schema, **part.question) for part in (train, test)
        )
        X, y = seen.X.astype(float), np.where(seen.y > 0.0, 1.0, -1.0)
        blocks = [list(block) for block in table.unscaled.blocks]
        chosen = added_one_by_one(X, y, blocks)
        columns = [c for j in chosen for c in blocks[j]]
        yield "best subset", best_subset((X, y), (unseen.X.astype(float), unseen.y), columns)
        yield "fit", with_quality(train, test, len(chosen), options, seed)
        print(table.name, seed, file=sys.stderr)


def measured(options: argparse.Namespace) -> Iterator[Record]:
    """Means over the splits of every table."""
    for table in class_tables(options.folder):
        if options.tables is not None and table.name not in options.tables:
            continue
        found = list(splits(table, options))
        for name in ("best subset", "fit"):
            some = [values for model, values in found if model == name]
            known = [values for values in some if values is not None]
            means = np.mean(known, axis=0).tolist() if known else []
            if known:
                _, _, _, predicted, yes = np.array(known).T
                means.append(float(np.mean(np.abs(predicted / yes - 1.0) <= 1.0 / 3.0)))
            yield {
                "table": table.name,
                "rows": len(table.frame),
                "model": name,
                **dict(zip(NAMES, means, strict=False)),
                "without": 1.0 - len(known) / len(some),
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--tables", type=lambda text: text.split(","))
    add_json_option(parser)
    options = parser.parse_args()
    print_records(measured(options), as_json=options.json)


if __name__ == "__main__":
    main()
