"""A model of a table, as a task: a selection of features, then a regression on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.failures import NOT_SPENT, amount, spent_by, without_numbers
from mipselect.cli.fit_plan import FitPlan
from mipselect.cli.fit_table import FitTable
from mipselect.cli.output import NOT_PRIVATE, banner, heading, line
from mipselect.cli.quality import rows_in_words, show_quality
from mipselect.cli.task import Task
from mipselect.privacy import Guarantee, Ledger
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import CoefficientTable
from mipselect.regression.evaluation import HeldOut
from mipselect.search.progress import ProgressCallback

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)

ALL_TERMS = "--all-terms lists them, as the file of --output does"


@dataclass(frozen=True, kw_only=True)
class FitTask(Task):
    """A selection and a regression on a table.

    Attributes
    ----------
    table : FitTable
    plan : FitPlan
    given : mapping
        What was given of coef_bound, ridge and loss.
    all_terms : bool
        Whether terms that are usually only counted are printed.
    """

    table: FitTable
    plan: FitPlan
    given: Mapping[str, Any]
    all_terms: bool

    @classmethod
    def of(
        cls,
        table: FitTable,
        plan: FitPlan,
        given: Mapping[str, Any],
        asked: Mapping[str, Any],
        *,
        all_terms: bool,
    ) -> FitTask:
        """Put a table and a plan together."""
        return cls(
            asked=asked,
            title=table.title,
            head=table.head,
            method=plan.method,
            seed=plan.options.seed,
            ledger=plan.options.ledger,
            table=table,
            plan=plan,
            given=given,
            all_terms=all_terms,
        )

    @property
    def hides_n(self) -> bool:
        """See `Task`."""
        return self.plan.promise.relation == "add-remove"

    @property
    def noted(self) -> Mapping[str, Any]:
        """See `Task`."""
        return self.plan.noted

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parts, and the bounds of the model."""
        return self.plan.asked

    @cached_property
    def apart(self) -> HeldOut | None:
        """Rows that are kept apart from the fit; None where nothing is to be measured."""
        options = self.plan.options
        if options.quality_share is None:
            return None
        return HeldOut.of_table(
            self.table.source,
            self.plan.drawn.public,
            options.quality_share,
            self.plan.promise.relation,
            self.plan.source_of_quality(),
        )

    @property
    def fitted(self) -> FitTable:
        """The table without the rows that are kept apart."""
        return self.table if self.apart is None else self.table.of_rows(~self.apart.apart)

    def problem(self) -> tuple[Problem, int | None]:
        """See `Task`; the number of rows is told where the score depends on it."""
        return self.table.problem(self.plan, self.given)

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `Task`."""
        return self.plan.drawn.promised(stated)

    def planned_report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """See `Task`."""
        return {"private": self.seed is None, **self.plan.report(self.plan.one)}

    def show_plan(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """See `Task`."""
        self._show_parts(console)
        if self.ledger is not None:
            before, after = self.ledger.remaining, self.ledger.after(self.total(stated))
            line(console, f"The ledger has {amount(before)} left, and would have {amount(after)}.")
        line(console, f"Guarantee: {self.plan.one.of_unit(unit)}.")
        self._show_model(console)

    def data(self) -> StoredData:
        """See `Task`; nothing is raised because of the rows."""
        made = self.fitted.scored(self.plan, self.given)
        return StoredData.of_made(Path(self.table.data), made, self.given)

    def draw(
        self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback
    ) -> FittedModel:
        """See `Task`."""
        sources, private = self.plan.sources(), self.seed is None
        scored, drawn = data.drawn_from(), self.plan.drawn
        made: Any = scored
        if drawn.blocks is not None:
            ranged = drawn.ranges is not None
            made = None if ranged else self.fitted.instance(self.plan, self.given)
        with without_numbers(self.method, NOT_SPENT):
            pair = drawn.pair(made, sources[0], private=private, scored=scored, progress=progress)
            pair.pair.selection.prepare()
        with without_numbers(self.method, spent_by(ledger)):
            model = pair.release(ledger, sources, self.fitted.source)
            if self.apart is not None:
                model = self.apart.measured(model, self.table.schema, self.table.unit_rule)
        return FittedModel(self, model)

    def show_terms(self, console: Console) -> None:
        """See `Task`."""
        self._show_parts(console)
        self._show_model(console)

    def _show_parts(self, console: Console) -> None:
        parts, options = self.plan.parts, self.plan.options
        ranges = ""
        if "ranges" in parts:
            ranges = f"{amount(parts['ranges'])} for ranges that nobody stated, "
        what = "the coefficients"
        if self.plan.drawn.looks_for_ranges:
            what = "where most values lie within the ranges, and the coefficients"
        features = "nothing for the features, which are all that there are"
        if self.plan.selects:
            features = f"{amount(parts['selection'])} for the features by {options.method.value}"
        by = options.model.way.value
        line(console, f"Cost: {features}, {ranges}{amount(parts['model'])} for {what} by {by}.")
        if options.quality_share is not None:
            apart = f"{100.0 * options.quality_share:.6g} % of the rows"
            line(console, f"Quality: on {apart}, kept apart from the fit, at no further ε.")

    def _show_model(self, console: Console) -> None:
        asked = self.plan.asked
        told = {k.removeprefix("model_"): v for k, v in asked.items() if k.startswith("model_")}
        known = {k: v for k, v in told.items() if v is not None}
        parts = [f"{v} loss" if k == "loss" else f"{k} {v:g}" for k, v in known.items()]
        if parts:
            line(console, f"Model: {', '.join(parts)}")


@dataclass(frozen=True)
class FittedModel:
    """A released model, or features without one, where the private test failed."""

    task: FitTask
    model: ModelRelease

    @property
    def private(self) -> bool:
        """See `Outcome`."""
        return self.model.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Outcome`."""
        if not self.model.has_model:
            return (NO_MODEL,)
        quality = self.model.quality
        return () if quality is None or quality.beats_chance else (quality.verdict,)

    @cached_property
    def coefficients(self) -> CoefficientTable | None:
        """The rows of the model; None where there is none."""
        return CoefficientTable.of(self.model) if self.model.has_model else None

    def report(self) -> Mapping[str, Any]:
        """See `Outcome`."""
        model, table = self.model, self.coefficients
        intervals = None if table is None else table.intervals
        return {
            "private": model.private,
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.task.plan.report(model.guarantee),
            "has_model": model.has_model,
            "model": model.to_dict(),
            "in_units": None if table is None else table.rule.to_dict(),
            "intervals": None if intervals is None else intervals.to_dict(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

    def show(self, console: Console, unit: str) -> None:
        """Print the model in the units of its table, and its guarantee."""
        model, table, all_terms = self.model, self.coefficients, self.task.all_terms
        if not model.private:
            banner(console, NOT_PRIVATE)
        kind = "released model" if model.private else "drawn model, not private"
        heading(console, f"{self.task.title}: {kind}")
        line(console, f"Features: {', '.join(model.feature_names)}")
        if table is None:
            line(console, "No model: the private test failed.")
        else:
            notes = table.notes(ALL_TERMS, all_terms=all_terms)
            for text in (*table.lines(all_terms=all_terms), *notes):
                line(console, text)
        for drawn in model.drawn_ranges:
            line(
                console,
                f"Range of {drawn['field']}: {drawn['minimum']:g} to {drawn['maximum']:g}, "
                f"private, drawn with ε = {drawn['epsilon']:.6g}.",
            )
        if model.quality is not None:
            show_quality(console, model.quality, rows_in_words(model.quality))
        for note in model.footnotes:
            line(console, f"Note: {note}.")
        if model.private:
            told = model.guarantee.of_unit(unit)
            line(console, f"Guarantee of features and coefficients: {told}.")
