"""`Release`: the only thing that may leave the building."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mipselect.privacy.guarantee import Guarantee

NOT_PRIVATE = "NOT PRIVATE: drawn with a seeded generator, for tests and experiments only"


@dataclass(frozen=True)
class Release:
    """Columns or items that were drawn privately, with what is promised about them.

    It holds nothing else that depends on the data.

    Attributes
    ----------
    support : tuple of int
        The chosen columns or items, 0-based; sorted, unless the mechanism selects a ranking.
    feature_names : tuple of str
        The names of the chosen columns, in the same order; empty for items without names.
    guarantee : Guarantee
        What is promised if `private` is true.
    mechanism : str
        The name of the mechanism.
    private : bool
        Whether the draw came from the operating system's generator. If not, whoever knows the
        seed can repeat the draw, and nothing is promised.
    """

    support: tuple[int, ...]
    feature_names: tuple[str, ...]
    guarantee: Guarantee
    mechanism: str
    private: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "mechanism": self.mechanism,
            "support": list(self.support),
            "feature_names": list(self.feature_names),
            "private": self.private,
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        if self.feature_names:
            named = zip(self.feature_names, self.support, strict=True)
            chosen = ", ".join(f"{name} ({j})" for name, j in named)
        else:
            chosen = ", ".join(str(j) for j in self.support)
        head = f"{self.mechanism} selected {chosen}"
        if not self.private:
            return f"{NOT_PRIVATE}.\n{head}.\nIt would have been {self.guarantee}."
        return f"{head}.\nIt is {self.guarantee}."
