"""What a plan says where there was time for few simulated tables."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from mipselect.cli.plan_model_report import model_legend, model_table
from mipselect.cli.plan_report import legend, plan_table
from mipselect.planning import (
    Guesses,
    Line,
    ModelLine,
    ModelPlan,
    SelectionPlan,
    Setting,
    TableScores,
    answers,
    model_sentences,
)
from mipselect.planning.chances import Chance

ASKED: dict[str, Any] = {"rows": 500, "support_size": 1, "features": 4, "seed": 0}


def model_plan(tables: int, others: int | None = None, spread: float = 0.1) -> ModelPlan:
    def line(rows: int, count: int) -> ModelLine:
        scores = [0.1 + spread * (k % 2) for k in range(count)]
        return ModelLine(rows, (1.0,), tuple(TableScores(0.4, ((s, s),)) for s in scores))

    lines = (line(500, tables), line(1000, tables if others is None else others))
    more = {"epsilons": (1.0,), "measure": "R²", "goal": 0.9, "guesses": Guesses()}
    return ModelPlan(**ASKED, **more, lines=lines)


def selection_plan(tables: int, more: int) -> SelectionPlan:
    def line(method: str, count: int) -> Line:
        found = tuple((Chance(0.5 + 0.1 * (k % 2), 0.2),) for k in range(count))
        return Line(Setting("method", method, 500, "blocks"), found)

    lines = (
        line("permute-and-flip", tables),
        line("exponential", more),
        Line(Setting("reference", "without privacy", 500, "blocks"), ((Chance(1.0, 1.0),),) * 5),
    )
    bounds = {"epsilons": (1.0,), "coef_bound": 0.9, "ridge": 1.0, "goal": 0.8, "repeated": 0}
    return SelectionPlan(
        **ASKED, **bounds, blocks=(), without_range=(), guesses=Guesses(), lines=lines
    )


def printed(table: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tables", "few", "rough"),
    [(1, True, True), (2, True, True), (4, True, False), (5, False, False)],
)
def test_a_model_of_few_tables_has_no_standard_error(tables: int, few: bool, rough: bool) -> None:
    plan = model_plan(tables)
    said, shown, (sentence,) = model_legend(plan), printed(model_table(plan)), model_sentences(plan)
    assert ("too few for a standard error" in said) is few
    assert ("standard errors of your rows at most" in said) is not few
    assert (f"Models of only {tables} simulated table" in said) is few
    assert ("~ marks rough guesses, from fewer than 3 simulated tables" in said) is rough
    assert (" to 0." in shown) is ("in brackets" in said) is not rough
    assert ("~" in shown) is rough
    words = (
        f"At ε = 1, as a rough guess from {tables} simulated table{'s' * (tables > 1)}, the model"
    )
    assert sentence.startswith(words) is rough


def test_what_would_do_is_a_rough_guess_by_the_lines_that_say_it() -> None:
    (sentence,) = model_sentences(model_plan(4, others=1))
    assert sentence.startswith("At ε = 1 the model would")
    assert "; as a rough guess from 1 simulated table, " in sentence


def test_no_standard_error_is_zero() -> None:
    assert "standard errors of your rows below 0.01" in model_legend(model_plan(6, spread=0.0))


@pytest.mark.parametrize(
    ("tables", "more", "words"),
    [
        (6, 6, "Standard errors are at most 2%."),
        (6, 4, "Standard errors are at most 2% where there are 5 simulated tables or more."),
        (4, 1, "Standard errors are below 1% where there are 5 simulated tables or more."),
    ],
)
def test_a_selection_states_errors_of_enough_tables(tables: int, more: int, words: str) -> None:
    plan = selection_plan(tables, more)
    said, shown, answer = legend(plan, 0.3), printed(plan_table(plan)), dict(answers(plan))
    assert words in said
    counts = f"{min(tables, more, 5)} to {max(tables, 5)}"
    only = "only " if min(tables, more) < 5 else ""
    assert f"Simulated tables: {only}{counts} for each line." in said
    assert ("~" in shown) is ("~ marks" in said) is (more == 1)
    method = answer["Which method?"]
    assert method.startswith("as a rough guess from 1 simulated table: ") is (more == 1)
    assert answer["Will it find what matters?"].startswith("of 1 right column")


def test_a_guess_from_a_single_table_is_marked() -> None:
    answer = dict(answers(selection_plan(1, 1)))
    for question in ("Will it find what matters?", "Which method?", "How many rows?"):
        assert answer[question].startswith("as a rough guess from 1 simulated table: ")
