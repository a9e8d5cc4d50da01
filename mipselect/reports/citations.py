"""Citations: the package, the papers of the methods, and the releases by their hashes.

The same sources stand in CITATION.cff and docs/references.md; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mipselect.documents.blocks import Block, BulletList, Cited, Heading, Paragraph, TextTable
from mipselect.reports.released import ReportedRelease

AUTHORS = "The mipselect developers"
TITLE = "mipselect: private variable selection by integer programming"


def _arxiv(text: str, number: str) -> Cited:
    return Cited(text, f"arXiv:{number}", f"https://arxiv.org/abs/{number}")


def _doi(text: str, number: str) -> Cited:
    return Cited(text, f"doi:{number}", f"https://doi.org/{number}")


PERMUTE = _arxiv("McKenna and Sheldon, “Permute-and-flip”, 2020,", "2010.12603")
EXPONENTIAL = _doi(
    "McSherry and Talwar, “Mechanism design via differential privacy”, 2007,",
    "10.1109/FOCS.2007.66",
)
INTEGER_PROGRAMMING = _arxiv(
    "Prastakos, Behdin and Mazumder, “Differentially Private High-dimensional Variable Selection "
    "via Integer Programming”, 2025,",
    "2510.22062",
)
CORRELATIONS = _arxiv(
    "Swope et al., “Feature Selection from Differentially Private Correlations”, 2024,",
    "2408.10862",
)
KENDALL = _arxiv(
    "Dick, Gillenwater and Joseph, “Better Private Linear Regression Through Better Private "
    "Feature Selection”, 2023,",
    "2306.00920",
)
BLOCKS = Cited(
    "Kifer, Smith and Thakurta, “Private convex empirical risk minimization and high-dimensional "
    "regression”, 2012,",
    "PMLR 23:25",
    "https://proceedings.mlr.press/v23/kifer12.html",
)
CHAIN = _arxiv(
    "Roy and Tewari, “On the computational complexity of private high-dimensional model selection "
    "via the exponential mechanism”, 2023,",
    "2310.07852",
)
OBJECTIVE = _arxiv(
    "Chaudhuri, Monteleoni and Sarwate, “Differentially private empirical risk minimization”, "
    "2011,",
    "0912.0071",
)
ADASSP = _arxiv("Wang, “Revisiting differentially private linear regression”, 2018,", "1803.02596")
BOOSTED = _arxiv(
    "Tang et al., “Improved differentially private regression via gradient boosting”, 2023,",
    "2303.03451",
)
TUKEY = _arxiv(
    "Amin, Joseph, Ribero and Vassilvitskii, “Easy differentially private linear regression”, "
    "2023,",
    "2208.07353",
)
PRIVACY = _doi(
    "Dwork and Roth, “The algorithmic foundations of differential privacy”, 2014,",
    "10.1561/0400000042",
)

PAPERS = {
    "permute-and-flip": (PERMUTE,),
    "exponential": (EXPONENTIAL,),
    "top-r": (INTEGER_PROGRAMMING,),
    "mistakes": (INTEGER_PROGRAMMING,),
    "sis": (CORRELATIONS,),
    "kendall": (KENDALL,),
    "sample-aggregate": (BLOCKS,),
    "mcmc": (CHAIN,),
    "objective": (OBJECTIVE,),
    "adassp": (ADASSP,),
    "boosted-adassp": (ADASSP, BOOSTED),
    "tukey": (TUKEY,),
}
"""The papers of methods and regressions, by the names of the command line."""


def citation_blocks(releases: Sequence[ReportedRelease]) -> Iterator[Block]:
    """Say how to cite the software, the methods and the releases."""
    yield Heading(2, "How to cite")
    versions = sorted({one.version for one in releases if one.version is not None})
    version = f" Version {', '.join(versions)}." if versions else ""
    yield BulletList(
        (f"{AUTHORS}. {TITLE}. Computer program.{version}", *papers_of(releases), PRIVACY)
    )
    known = [one for one in releases if one.digest is not None]
    if known:
        yield Paragraph(
            "A release is named by the SHA-256 of its file, and by its row in a ledger where there "
            "is one; whoever has the file can compare."
        )
        yield TextTable(
            ("release", "SHA-256 of the file", "ledger, row"),
            tuple((one.name, one.digest or "", _row(one)) for one in known),
        )


def papers_of(releases: Sequence[ReportedRelease]) -> tuple[Cited, ...]:
    """List the papers of all methods that were used, each once."""
    used = [name for one in releases for name in (one.method, one.regression) if name is not None]
    return tuple(dict.fromkeys(paper for name in used for paper in PAPERS.get(name, ())))


def _row(one: ReportedRelease) -> str:
    return "none" if one.ledger is None else f"{one.ledger.identity}, row {one.ledger.number}"
