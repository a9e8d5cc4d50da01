"""The options of everything that draws: which method, what it costs, and what a method knows."""

from __future__ import annotations

from mipselect.cli.declared import group, option, options, required
from mipselect.cli.ledger_entry import LedgerOptions
from mipselect.cli.options import PRIVACY_PANEL, SearchArguments
from mipselect.selectors import BY_NAME

METHOD_PANEL = "Of single methods"


METHODS_IN_WORDS = (
    "permute-and-flip and exponential draw exactly from all supports, the first closer to the best "
    "ones at the same ε; top-r and mistakes search for the best ones; sis, kendall and "
    "sample-aggregate draw from scores of columns; mcmc walks, private if it has mixed."
)


@options
class MethodOptions:
    """Options of single methods; which method knows which, its parameters say by their flags."""

    PANEL = METHOD_PANEL

    relation: str | None = option(
        "--relation",
        "For sis, kendall and sample-aggregate: what ε is stated under; under add-remove the "
        "number of rows is private too.",
        metavar="replace-one|add-remove",
        show_default="replace-one",
        panel=PRIVACY_PANEL,
    )
    delta: float | None = option(
        "--delta",
        "For mcmc (1e-6 if not given), and for mistakes with --test-epsilon: δ of one draw.",
        panel=PRIVACY_PANEL,
    )
    sizes: str | None = option(
        "--sizes",
        "For permute-and-flip and exponential: public sizes, such as 1-8 or 1,3,5; one is drawn "
        "with the support, at no further ε.",
        metavar="S-S|S,S,...",
        show_default="one size",
    )
    complexity: float | None = option(
        "--complexity",
        "For --sizes: without data all supports of size s together weigh p^(-As), A ≥ 0.",
        metavar="A",
        show_default="1",
    )
    test_epsilon: float | None = option(
        "--test-epsilon",
        "For mistakes: spend this ε on testing its condition, which then is none; needs --delta, "
        "and falls back on top-r.",
    )
    top_k: str | None = option(
        "--top-k",
        "What selects from the scores; for sis canonical, peeling, one-shot or joint, for "
        "sample-aggregate peeling or laplace. For sis, canonical finds all columns or none, and "
        "peeling some of them at half the ε or less.",
        metavar="NAME",
        show_default="canonical; peeling",
    )
    alpha: float | None = option(
        "--alpha",
        "For sample-aggregate: the penalty of each Lasso, public.",
        metavar="A",
        show_default="the largest that keeps s columns",
    )
    blocks: int | None = option(
        "--blocks",
        "For sample-aggregate: how many blocks of rows vote, public.",
        metavar="B",
        show_default="about √n",
    )
    mcmc_steps: int | None = option(
        "--mcmc-steps",
        "For mcmc: steps of the chain; that they suffice is a condition of the guarantee.",
        metavar="K",
        show_default="5000",
    )
    mcmc_radius: float | None = option(
        "--mcmc-radius",
        "For mcmc: bound on ‖β‖₁, public.",
        metavar="B",
        show_default="r√s, with r the coef_bound",
    )
    search: SearchArguments = group(SearchArguments)


@options
class DrawOptions:
    """A method with its options, and the ledger that it is charged to."""

    PANEL = PRIVACY_PANEL

    method: str | None = option(
        "--method",
        f"{METHODS_IN_WORDS} A ledger of ρ is charged ε²/8 for exponential, and four times as much "
        "for permute-and-flip, which is not of bounded range.",
        show_default="permute-and-flip; with a ledger of ρ exponential",
        choices=BY_NAME,
    )
    draws: int = option(
        "--draws", "Independent draws; K draws cost K times as much.", default=1, metavar="K"
    )
    budget: float | None = option(
        "--budget",
        "Refuse, before anything is read, if all draws together cost more than ε = E.",
        metavar="E",
    )
    ledger: LedgerOptions = group(LedgerOptions)
    of_the_method: MethodOptions = group(MethodOptions)
    seed: int | None = option("--seed", "Reproducible draws, for tests: the result is NOT PRIVATE.")
    dry_run: bool = option(
        "--dry-run",
        "State the problem, the cost and the guarantee; read no row and draw nothing.",
        default=False,
    )


@options
class SupportDrawOptions(DrawOptions):
    """Draws of supports, each at the same ε."""

    epsilon: float = required("--epsilon", "ε of one draw, > 0.")
