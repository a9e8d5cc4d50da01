"""`Release`: the outcome of a private draw, the only thing that may leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.validation import checked_flag, checked_integer, checked_name, set_fields, shown

NOT_PRIVATE = "NOT PRIVATE: drawn with a seeded generator, for tests and experiments only"


@dataclass(frozen=True)
class Release:
    """Columns or items that were drawn privately, with their guarantee.

    It holds nothing else that depends on the data.

    Attributes
    ----------
    support : tuple of int
        The chosen columns or items, 0-based; sorted, unless the mechanism selects a ranking.
    feature_names : tuple of str
        The names of the chosen columns, in the same order; empty for items without names.
    guarantee : Guarantee
        Guarantee of the draw; marked as none if `private` is false.
    mechanism : str
        The name of the mechanism.
    private : bool
        Whether the draw came from the operating system's generator. If not, anybody who knows the
        seed can repeat the draw, and nothing is guaranteed.

    Raises
    ------
    InvalidInput
        If the support is not of integers, a name is not a short printable text, or anything
        else is not what it must be: nothing but a choice may leave in a release.

    Examples
    --------
    >>> import json
    >>> from mipselect.mechanisms import NoisyMax
    >>> release = NoisyMax([3.0, 1.0], 1.0).release(rng=0)
    >>> release.support, release.private
    ((0,), False)
    >>> json.dumps(release.to_dict()["guarantee"])[:30]
    '{"epsilon": 1.0, "delta": 0.0,'
    """

    support: tuple[int, ...]
    feature_names: tuple[str, ...]
    guarantee: Guarantee
    mechanism: str
    private: bool

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidInput(f"a release needs a Guarantee, got {shown(self.guarantee)}")
        support = tuple(checked_integer(j, "an entry of a support", 0) for j in self.support)
        names = tuple(checked_name(name, "a feature name") for name in self.feature_names)
        if names and len(names) != len(support):
            raise InvalidInput(f"{len(support)} entries of a support have {len(names)} names")
        private = checked_flag(self.private, "private") and self.guarantee.private
        set_fields(
            self,
            support=support,
            feature_names=names,
            mechanism=checked_name(self.mechanism, "the mechanism"),
            private=private,
            guarantee=replace(self.guarantee, private=private),
        )

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
        before, after = self._said()
        return "\n".join([*before, f"{self.mechanism} selected {chosen}.", after])

    def _said(self, unit: str = ROW) -> tuple[list[str], str]:
        """Return the mark of a release that is not private, and its guarantee for one `unit`."""
        stated = replace(self.guarantee, private=True).of_unit(unit)
        if self.private:
            return [], f"It is {stated}."
        return [f"{NOT_PRIVATE}."], f"It would have been {stated}."
