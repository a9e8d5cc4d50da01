"""Methods of releases: how to cite them, and the section for ethics boards and registries.

The sources stand in CITATION.cff and docs/references.md too; a test compares them. The parts for
boards are those of the registry of deployments of differential privacy that OpenDP and NIST have
begun: Nanayakkara, Ghazi and Vadhan, "Practitioners' perspectives on a differential privacy
deployment registry", 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.disk import read_toml
from mipselect.documents.markdown import Cited
from mipselect.errors import InvalidInput
from mipselect.privacy.guarantee import amount
from mipselect.privacy.public_fields import in_words
from mipselect.selectors import BY_NAME
from mipselect.validation import checked_line, did_you_mean, listed, shown

if TYPE_CHECKING:
    from mipselect.reports.release_report import ReportedRelease

AUTHORS = "The mipselect developers"
TITLE = "mipselect: private variable selection by integer programming"


PRIVACY = Cited(
    "Dwork and Roth, “The algorithmic foundations of differential privacy”, 2014,",
    "doi:10.1561/0400000042",
)
ADASSP = Cited(
    "Wang, “Revisiting differentially private linear regression”, 2018,",
    "arXiv:1803.02596",
)

REGRESSIONS: Mapping[str, tuple[str, *tuple[Cited, ...]]] = {
    "objective-perturbation": (
        "coefficients by objective perturbation: the minimiser of a loss with a random linear term",
        Cited(
            "Chaudhuri, Monteleoni and Sarwate, “Differentially private empirical risk "
            "minimization”, 2011,",
            "arXiv:0912.0071",
        ),
    ),
    "adassp": (
        "coefficients by AdaSSP: least squares from noisy sums of squares and products",
        ADASSP,
    ),
    "boosted-adassp": (
        "coefficients by AdaSSP in rounds on clipped residuals",
        ADASSP,
        Cited(
            "Tang et al., “Improved differentially private regression via gradient boosting”, "
            "2023,",
            "arXiv:2303.03451",
        ),
    ),
    "tukey": (
        "coefficients by a private Tukey median of models on blocks of rows",
        Cited(
            "Amin, Joseph, Ribero and Vassilvitskii, “Easy differentially private linear "
            "regression”, 2023,",
            "arXiv:2208.07353",
        ),
    ),
}
"""Regressions in words and their papers, by the names of `ModelRelease.regression`."""


def described(name: str) -> tuple[str, *tuple[Cited, ...]]:
    """Return a method or regression in words, and its papers; of one that is unknown its name."""
    if name in BY_NAME:
        said: Any = BY_NAME.data[name]  # A `Home`, or a class of one's own.
        return said.sentence, *said.papers
    return REGRESSIONS.get(name, (name,))


FACTS = {
    "Name of the study": "a title and a reference number",
    "Data curator": "who holds the data and answers for the release",
    "Intended use": "what the release is for, and who will read it",
    "People in the data": "who they are, where and when data were collected",
    "Privacy unit": "whom one row stands for, where the schema does not say whose row it is",
    "Who had access to the data": "names or roles, before the release",
    "Preparation of the data": "what was done before, by public rules only",
    "Where the public settings came from": (
        "bounds, ridge, size, ε and δ must have been chosen without looking at these data"
    ),
    "Other releases from the same data": (
        "their privacy losses add to this one; also of releases by other software"
    ),
    "Date and place of publication": "when and where it is published",
    "Legal basis and approval": "consent, law, the vote of the ethics board",
}
"""Facts that only people know of a release, and a hint for each."""


LARGEST, LONGEST = 100_000, 2_000
"""Bytes of a file of facts, and characters of a fact."""


def read_facts(path: Path) -> dict[str, str]:
    """Read a file of facts; those that are still empty are left out.

    Raises
    ------
    InvalidInput
        For a name that is none of `FACTS`, and for what is no text.
    """
    facts = {}
    for name, text in read_toml(path, LARGEST).items():
        if name not in FACTS:
            raise InvalidInput(
                f"{path}: {shown(name)} is no blank of a report; blanks are "
                f"{listed(list(FACTS))}{did_you_mean(name, FACTS)}"
            )
        if not isinstance(text, str):
            raise InvalidInput(f"{path}: {shown(name)} must be a text, got {shown(text)}")
        if words := " ".join(text.split()):
            facts[name] = checked_line(words, f"{path}: {shown(name)}", LONGEST)
    return facts


def sources(releases: Sequence[ReportedRelease]) -> list[str | Cited]:
    """List what to cite: the software, and the papers of the methods."""
    versions = sorted({one.version for one in releases if one.version is not None})
    version = f" Version {', '.join(versions)}." if versions else ""
    used = (name for one in releases for name in one.made_by)
    papers = dict.fromkeys(paper for name in used for paper in described(name)[1:])
    return [f"{AUTHORS}. {TITLE}. Computer program.{version}", *papers, PRIVACY]


def files(releases: Sequence[ReportedRelease]) -> list[tuple[str, str, str]]:
    """Return files by their hashes, with their places in ledgers, as rows."""
    return [(one.name, one.digest, _row(one)) for one in releases if one.digest is not None]


def _row(one: ReportedRelease) -> str:
    return "none" if one.ledger is None else f"{one.ledger.identity}, row {one.ledger.number}"


def how_made(one: ReportedRelease) -> Iterator[tuple[str, str]]:
    """Yield names and texts about the draw of one release, for boards and registries."""
    total = one.guarantee
    kind = (
        "Pure differential privacy (ε)"
        if total.delta == 0.0
        else "Approximate differential privacy (ε, δ)"
    )
    yield "Kind of privacy", f"{kind}, {amount(total)}."
    if total.concentrated is not None:
        yield "In zero-concentrated privacy", f"ρ = {total.concentrated:.6g}"
    yield "Composition", _composition(one)
    yield "Mechanism", "; then ".join(described(name)[0] for name in one.made_by)
    told = [in_words(name, value) for name, value in one.settings.items()]
    always = [f"always in: {', '.join(one.always)}"] if one.always else []
    yield "Public settings", "; ".join([*told, *always])
    if one.candidates:
        yield "Columns that could be chosen", ", ".join(one.candidates)
    yield "Software", f"mipselect {one.version}"
    for note in () if one.model is None else one.model.footnotes:
        yield "Note", note[:1].upper() + note[1:]


def _composition(one: ReportedRelease) -> str:
    if one.model is None:
        return "One draw."
    said = "Features, then their coefficients; ε and δ of both are added up, and charged at once."
    if one.features_of is not None:
        said = (
            "The coefficients alone: the features are those of another release, which counts by "
            f"itself (SHA-256 {one.features_of})."
        )
    if one.model.quality is not None:
        said += " The quality is of rows that were kept apart from both, and adds nothing."
    return said
