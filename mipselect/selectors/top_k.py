"""Private top-k mechanisms by name, for selectors that draw from scores."""

from __future__ import annotations

from collections.abc import Mapping

from mipselect.errors import InvalidInput
from mipselect.mechanisms import CanonicalLipschitz, JointExponential, OneShotTopK, Peeling
from mipselect.mechanisms.scores.top_k import TopK
from mipselect.parameters import Check
from mipselect.validation import checked_choice

NOISE: Mapping[TopK, float] = {
    Peeling: 2.0,
    OneShotTopK: 2.0,
    CanonicalLipschitz: 4.0,
    JointExponential: 4.0,
}
"""w/Δ of mechanisms that make no k items likely, with scores between 0 and w/ε · ln C(p, k)
(docs/mathematics/score-mechanisms.md, (15)); of other noises none is known."""


def top_k_named(top_k: str | TopK, known: Mapping[str, TopK], name: str = "top_k") -> TopK:
    """Return a callable as it is and a name's mechanism, or raise `InvalidInput`."""
    if isinstance(top_k, str):
        return known[checked_choice(top_k, name, known)]
    if not callable(top_k):
        names = ", ".join(map(repr, known))
        raise InvalidInput(f"{name} must be one of {names}, or a callable, got {top_k!r}")
    return top_k


def checked_top_k(known: Mapping[str, TopK]) -> Check:
    """Make the check of a name or a callable against the names that are known."""

    def check(top_k: str | TopK, name: str) -> None:
        top_k_named(top_k, known, name)

    return check
