"""Reports of `solve` on block R²: supports by their score, all of which are known. Sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.markup import escape

from mipselect.arrays import FloatArray
from mipselect.cli.output import SENSITIVE, banner, heading, picked, table_of
from mipselect.mechanisms.supports.exact import score_within
from mipselect.mechanisms.supports.ranks import unrank
from mipselect.problem.block_scores import BlockScores
from mipselect.search.options import SearchSettings
from mipselect.search.progress import ProgressCallback, Run
from mipselect.search.supports import number_of_listed
from mipselect.validation import plural


@dataclass(frozen=True, eq=False)
class ListedScores:
    """The supports with the largest scores.

    Attributes
    ----------
    name : str
        Name of the instance.
    scores : BlockScores
    supports : list of tuple of int
        The best first; ties in lexicographic order.
    values : ndarray of shape (R,)
        F(S) of each.
    """

    name: str
    scores: BlockScores
    supports: list[tuple[int, ...]]
    values: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls, name: str, scores: BlockScores, search: SearchSettings, progress: ProgressCallback
    ) -> Self:
        """Score all supports, and list as many as a pool has.

        Raises
        ------
        NotCertified
            If the time limit passes first.
        """
        count = number_of_listed(scores.problem, search.pool_size)
        score_within(scores, Run.start(search.time_limit, progress))
        order = np.argsort(-scores.counts, kind="stable")[:count]
        p, s = scores.n_features, scores.support_size
        supports = [unrank(number, p, s) for number in order.tolist()]
        return cls(name, scores, supports, scores.all_scores[order])

    @property
    def shares(self) -> FloatArray:
        """Mean u(S) of a block, between 0 and 1."""
        blocks = self.scores.settings.blocks
        shares: FloatArray = self.values / blocks.count(self.scores.n)
        return shares

    def names(self, support: tuple[int, ...]) -> list[str]:
        """Return the names of features."""
        return [self.scores.feature_names[j] for j in support]

    def report(self) -> Mapping[str, Any]:
        """Return it as a JSON object."""
        scores, best = self.scores, self.supports[0]
        return {
            "command": "solve",
            "sensitive": True,
            "warning": SENSITIVE,
            "instance": self.name,
            **picked(scores, "n", "n_features", "support_size", "number_of_supports"),
            **picked(scores.problem, "p", "score"),
            "sensitivity": scores.sensitivity,
            **scores.settings.blocks.public(),
            "method": "listing",
            "pool_size": len(self.supports),
            "best": {
                "support": list(best),
                "names": self.names(best),
                "score": float(self.values[0]),
                "share": float(self.shares[0]),
            },
            "supports": [list(support) for support in self.supports],
            "scores": self.values.tolist(),
        }

    def show(self, console: Console, rows: int) -> None:
        """Print the first `rows`."""
        banner(console, SENSITIVE)
        heading(console, self.name)
        scores, shown = self.scores, min(rows, len(self.supports))
        blocks = scores.settings.blocks
        console.print(
            f"n = {scores.n:,}, {scores.n_features:,} features, s = {scores.support_size}, "
            f"{scores.number_of_supports:,} supports; R² within blocks of {blocks.rows} rows, in "
            f"{plural(blocks.partitions, 'partition')}; one row moves a score by at most 1; "
            "blocks are centred, which stands for an intercept"
        )
        heading(console, f"The {shown:,} best of {scores.number_of_supports:,} supports")
        titles = ("rank", "score", "share of the best", "features", "names")
        table = table_of(*titles, right=titles[:3], fold=titles)
        for k, support in enumerate(self.supports[:shown]):
            table.add_row(
                str(k + 1),
                f"{self.values[k]:.10g}",
                f"{self.shares[k]:.1%}",
                " ".join(map(str, support)),
                escape(", ".join(self.names(support))),
            )
        console.print(table)
        console.print("Every support was scored.")
