"""The options of everything that draws: which method, what it costs, and what a method knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mipselect.cli.options import PRIVACY_PANEL, MethodKind

METHOD_PANEL = "Of single methods"

Epsilon = Annotated[
    float,
    typer.Option("--epsilon", help="ε of one draw, > 0.", rich_help_panel=PRIVACY_PANEL),
]
MethodName = Annotated[
    MethodKind,
    typer.Option(
        "--method",
        help="exponential draws exactly from all supports; top-r and mistakes search for the "
        "best ones; sis, kendall and sample-aggregate draw from scores of columns; mcmc walks, "
        "private if it has mixed.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Draws = Annotated[
    int,
    typer.Option(
        "--draws",
        metavar="K",
        help="Independent draws; K draws cost K times as much.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="E",
        help="Refuse, before anything is read, if all draws together cost more than ε = E.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Charge this ledger before anything is drawn; 'mipselect ledger create' makes one.",
        show_default="nothing remembers the release",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
LedgerKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger-key",
        metavar="KEY",
        help="With --ledger: the file of the key that the ledger was created with.",
        show_default="MIPSELECT_LEDGER_KEY, or none",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
LedgerPart = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="COLUMN=VALUE",
        help="With --ledger: the data are all rows with this value of a public column; draws from "
        "disjoint parts count once.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Relation = Annotated[
    str | None,
    typer.Option(
        "--relation",
        metavar="replace-one|add-remove",
        help="For sis, kendall and sample-aggregate: what ε is stated under; under add-remove the "
        "number of rows is private too.",
        show_default="replace-one",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="For mcmc (1e-6 if not given), and for mistakes with --test-epsilon: δ of one draw.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        help="Reproducible draws, for tests: the result is NOT PRIVATE.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say what would be asked, spent and promised; read no row and draw nothing.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="S-S|S,S,...",
        help="For exponential: public sizes, such as 1-8 or 1,3,5; one is drawn with the support, "
        "at no further ε.",
        show_default="one size",
        rich_help_panel=METHOD_PANEL,
    ),
]
Complexity = Annotated[
    float | None,
    typer.Option(
        "--complexity",
        metavar="A",
        help="For --sizes: a blind draw has size s with probability ∝ p^(-As), A ≥ 0.",
        show_default="1",
        rich_help_panel=METHOD_PANEL,
    ),
]
TestEpsilon = Annotated[
    float | None,
    typer.Option(
        "--test-epsilon",
        help="For mistakes: spend this ε on testing its condition, which then is none; needs "
        "--delta, and falls back on top-r.",
        rich_help_panel=METHOD_PANEL,
    ),
]
TopK = Annotated[
    str | None,
    typer.Option(
        "--top-k",
        metavar="NAME",
        help="What selects from the scores; for sis canonical, peeling, one-shot or joint, for "
        "sample-aggregate peeling or laplace.",
        show_default="canonical; peeling",
        rich_help_panel=METHOD_PANEL,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        metavar="A",
        help="For sample-aggregate: the penalty of each Lasso, public.",
        show_default="the largest that keeps s columns",
        rich_help_panel=METHOD_PANEL,
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="B",
        help="For sample-aggregate: how many blocks of rows vote, public.",
        show_default="about √n",
        rich_help_panel=METHOD_PANEL,
    ),
]
MCMCSteps = Annotated[
    int | None,
    typer.Option(
        "--mcmc-steps",
        metavar="K",
        help="For mcmc: steps of the chain; that they are enough is a condition of the promise.",
        show_default="5000",
        rich_help_panel=METHOD_PANEL,
    ),
]
MCMCRadius = Annotated[
    float | None,
    typer.Option(
        "--mcmc-radius",
        metavar="B",
        help="For mcmc: bound on ‖β‖₁, public.",
        show_default="r√s, with r the coef_bound",
        rich_help_panel=METHOD_PANEL,
    ),
]
