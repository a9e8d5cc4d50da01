"""What was typed after `mipselect select` or `release` as a plan, which reads no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mipselect.blocks.scores import LOSS, BlockOptions
from mipselect.cli import inputs, options, table_options
from mipselect.cli.declared import given, names_of, refuse
from mipselect.cli.inputs import ProblemSource
from mipselect.cli.options import option_named, stated
from mipselect.cli.releasing import ReleasePlan, default_method
from mipselect.cli.select import ReleaseArguments, SelectArguments
from mipselect.errors import InvalidInput, about
from mipselect.losses import checked_loss
from mipselect.parameters import parameters_of
from mipselect.problem import block_scores
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.selectors import BY_NAME
from mipselect.selectors.base import PrivateSelector, RowsSelector, ScoreSelector
from mipselect.selectors.problem import BOUNDS, ProblemSelector
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from mipselect.tables.numbers import header, read_table
from mipselect.validation import checked_integer, checked_positive


def plan_of_table(arguments: SelectArguments) -> tuple[ReleasePlan, ProblemSource]:
    """Check all that can be checked before a row of a table is read.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded, RelationMismatch
        From the ledger.
    """
    schema = arguments.table.described(arguments)
    titles = {} if schema is None else schema.titles
    named = {"command": "select", **arguments.table.head}
    plan = _plan(arguments.drawing, {**named, **({"titles": titles} if titles else {})})
    return plan, _table(arguments, schema, plan)


def plan_of_instance(arguments: ReleaseArguments) -> tuple[ReleasePlan, ProblemSource]:
    """Do the same for an instance, or moments."""
    instance = arguments.source.instance
    plan = _plan(arguments.drawing, {"command": "release", "instance": instance})
    source = inputs.asked_of(arguments.source, plan.method.sizes)
    if instance.endswith(inputs.ENDING) and isinstance(plan.method, RowsSelector):
        plan.method.require_sums()
    return plan, source


def _plan(drawing: options.DrawOptions, head: Mapping[str, Any]) -> ReleasePlan:
    """Open the ledger and check the options of a draw; `head` is that of the plan."""
    ledger = drawing.charge.opened()
    name = default_method(ledger) if drawing.method is None else drawing.method
    method = method_asked_for(name, drawing.epsilon, drawing.further)
    return ReleasePlan(head=head, drawing=drawing, ledger=ledger, method=method)


def method_asked_for(name: str, epsilon: float, further: Mapping[str, Any]) -> PrivateSelector:
    """Make a method; raise `InvalidInput`, naming the option, for what is wrong or not its own."""
    checked_positive(epsilon, "--epsilon")
    kind, chosen = BY_NAME[name], stated(**further)
    flags = flags_of(kind)
    for option in chosen:
        if option not in flags:
            others = [other for other, it in BY_NAME.items() if option in flags_of(it)]
            raise InvalidInput(
                f"{option} does not apply to --method {name}, but to {', '.join(others)}"
            )
    options.check_solver(chosen.get("--solver", options.AUTO))
    values = {
        flags[option]: options.PARSED[option][0](value) if option in options.PARSED else value
        for option, value in chosen.items()
    }
    # Nothing would come of these beside the others.
    if name == "mistakes" and "pool_size" in values and "test_epsilon" not in values:
        raise InvalidInput(
            "--pool-size (without --test-epsilon) does not apply to --method mistakes"
        )
    if "complexity" in values and len(values.get("sizes", ())) < 2:
        raise InvalidInput("--complexity is for a choice between sizes: give --sizes, such as 1-8")
    if issubclass(kind, ScoreSelector):
        # An instance's number of rows is public unless it is said to be private.
        values.setdefault("relation", "replace-one")
    named = {field: option for option, field in flags.items()}
    method: PrivateSelector = kind(epsilon=epsilon, **values)
    return method.check(lambda field: named.get(field, field))


def flags_of(kind: type[PrivateSelector]) -> dict[str, str]:
    """Return the names of those parameters of a method that are options, by their option."""
    known = parameters_of(kind).items()
    return {about.flag: name for name, about in known if about.flag is not None}


def _table(
    arguments: SelectArguments, schema: TableSchema | None, plan: ReleasePlan
) -> ProblemSource:
    """Name a table of numbers, or one with a schema, and the score of what is selected from it.

    A score from blocks of rows uses no bound; a loss needs all that the method does, which a
    schema has.
    """
    table, question, bounds = arguments.table, arguments.question, asdict(arguments.bounds)
    method, size = plan.method, inputs.size_of(arguments.support_size, plan.method.sizes)
    foreign = {option_named(name) for name in set(BOUNDS) - set(method.bounds)}
    bounds, settings, blocks = stated(**bounds), dict[str, Any](), None
    if isinstance(method, ProblemSelector):
        method = _scored(arguments, plan, bounds)
        if method.asked_score != LOSS:
            blocks = method.block_options(plan.source)
        else:
            settings["loss"] = method.loss
    else:
        foreign.update(names_of(table_options.ScoreOptions))
    beside = " beside --mcmc-radius" * ("--mcmc-radius" in given(plan.drawing))
    refuse(arguments, f"does not apply to --method {method.name}{beside}", foreign)
    if blocks is None:
        settings |= bounds
    if schema is None:
        if blocks is None:
            _require_bounds(bounds, method)
        return _numbers(arguments, blocks, {"support_size": size, "loss": None, **settings})
    if blocks is None:
        settings["intercept"] = not question.no_intercept
    else:
        why = "goes with --score loss: blocks use no range, and are centred"
        refuse(question, why, ("--range", "--no-intercept"))
    asked = question.question_about(schema, table.target)
    scored_by = ScoredTable(table.source, asked, size, settings, blocks)
    return ProblemSource.of_made(table.data, scored_by.problem, scored_by.made, table.files)


def _scored(
    arguments: SelectArguments, plan: ReleasePlan, bounds: Mapping[str, float]
) -> ProblemSelector:
    """Return a copy of the method with the score that is asked for, and what goes with it."""
    scores, question, score = arguments.scores, arguments.question, arguments.scores.score
    of_loss = scores.loss or question.ranges or question.no_intercept
    if score is None and (of_loss or plan.relation == "add-remove"):
        score = LOSS
    with about("--loss"):
        checked_loss(scores.loss or "squared")
    made: Any = copy(plan.method).set_params(score=score, **stated(loss=scores.loss), **bounds)
    checked: ProblemSelector = made.check(option_named)
    return checked


def _require_bounds(bounds: Mapping[str, float], method: PrivateSelector) -> None:
    """Raise `InvalidInput` unless all bounds that the method needs are given."""
    missing = [option_named(name) for name in method.bounds if name not in bounds]
    if "--coef-bound" in missing and method.name == "mcmc":
        missing[-1] += " (or --mcmc-radius)"
    advice = "; --score blocks needs none" * ("ridge" in method.bounds)
    if missing:
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            f"{', '.join(missing)} must be given: the bounds are public assumptions, chosen "
            f"without looking at the data; a default derived from the data would leak{advice}"
        )


def _numbers(
    arguments: SelectArguments, blocks: BlockOptions | None, settings: Mapping[str, Any]
) -> ProblemSource:
    """Name a table of numbers, with the settings of `Instance` or scored from blocks of rows."""
    table, path = arguments.table, Path(arguments.table.data)
    asked = table.source, table.target, table.chosen
    named = "the largest of --sizes" if arguments.support_size is None else "--support-size"

    def of_columns(names: Sequence[str]) -> Problem:
        checked_integer(settings["support_size"], f"{path}: {named}", 1, len(names))
        with about(str(path)):
            return Problem.of_columns(len(names), names, **settings)

    def problem() -> tuple[Problem, int | None]:
        found = of_columns(header(*asked))
        with about(str(path)):
            return (found if blocks is None else block_scores.scored(blocks, found)), None

    def data() -> StoredData:
        X, y, names = read_table(*asked)
        found = of_columns(names)
        rows = Rows(found.layout.ordered(X), y)
        if blocks is None:
            return StoredData(path, found, rows)
        with about(str(path)):
            made = block_scores.scored_rows(blocks, found, rows)
        return StoredData(path, made.problem, made)

    return ProblemSource(problem, data, table.files)
