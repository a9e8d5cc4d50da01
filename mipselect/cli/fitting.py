"""A model of a table: a selection of features, then a regression on them, as one release."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.fit_division import FitOptions
from mipselect.cli.output import NOT_PRIVATE, banner, heading, line, show_quality
from mipselect.cli.release_file import ReleasedFeatures
from mipselect.cli.releasing import NOT_SPENT, amount, spent_by, without_numbers
from mipselect.privacy import Guarantee, Ledger
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData
from mipselect.regression import ModelRelease, TukeyRegressor
from mipselect.regression.coefficients import CoefficientTable, reading_notes
from mipselect.regression.evaluation import HeldOut
from mipselect.regression.plan import TablePlan
from mipselect.regression.ranges import PRIVATE
from mipselect.regression.tukey import FAILS
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.selectors.base import PrivateSelector

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)

ELSEWHERE = "the file of --output has them"


@dataclass(frozen=True, eq=False)
class FitPlan:
    """A selection and a model of a table, as `SupportPlan` is one of draws, and its own source.

    Attributes
    ----------
    options : FitOptions
    drawn : TablePlan
    path : str
        That of the table, as it was given.
    source : object
        What its rows are read from; None where no row was read.
    released : ReleasedFeatures or None
        Where the features are from, if they were not to be drawn.
    """

    options: FitOptions
    drawn: TablePlan
    path: str
    source: Any = field(repr=False)
    released: ReleasedFeatures | None = None

    @property
    def seed(self) -> int | None:
        """See `SupportPlan`."""
        return self.options.seed

    @property
    def ledger(self) -> Ledger | None:
        """See `SupportPlan`."""
        return self.options.ledger

    @property
    def method(self) -> PrivateSelector:
        """Method that selects the features."""
        return self.drawn.method

    @property
    def selects(self) -> bool:
        """False where all features are in, and nothing is drawn of them."""
        return not isinstance(self.method, AllFeaturesSelector)

    @property
    def method_name(self) -> str:
        """Name of the method in reports and ledgers."""
        return self.options.name_of(self.method)

    @property
    def share(self) -> float:
        """The part of ε that the selection may cost."""
        return self.options.share if self.selects else 0.0

    @property
    def together(self) -> Guarantee:
        """See `SupportPlan`; not private if seeded."""
        return replace(self.drawn.promise, private=self.seed is None)

    @property
    def parts(self) -> dict[str, Guarantee]:
        """Guarantees of the parts, by name: the selection, ranges that are drawn, the model."""
        selection, ranges = self.method.guarantees[self.options.relation], self.drawn.ranges
        drawn = {} if ranges is None else {"ranges": ranges.guarantee}
        return {"selection": selection, **drawn, "model": self.drawn.model_promise}

    @property
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings."""
        return {
            "method": self.method_name,
            "regression": self.options.model.way.value,
            "epsilon": self.options.epsilon,
            "delta": self.options.division.delta or 0.0,
            "selection_share": self.share,
            **self._where_asked,
        }

    @property
    def _where_asked(self) -> Mapping[str, Any]:
        """Entries of ledgers and reports that are there only where they were asked for."""
        share = self.options.division.quality_share
        ranges = {"ranges": PRIVATE} if self.options.private_ranges else {}
        measured = {} if share is None else {"quality_share": share}
        one = self.released
        of = {} if one is None else {"features_of": {"file": one.file, "sha256": one.digest}}
        return {**ranges, **measured, **of}

    def of_parts(self, together: Guarantee) -> dict[str, Any]:
        """Return a guarantee as part of a JSON object, and those of its two parts."""
        return {
            "guarantee": together.to_dict(),
            **{f"guarantee_of_{name}": part.to_dict() for name, part in self.parts.items()},
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parts, and the bounds of the model."""
        largest = self.drawn.model_on(self.drawn.widest)
        params = largest.get_params(deep=False)
        loss = params.get("loss")
        units, ranges = self.drawn.public.units, self.drawn.ranges
        drawn = ranges is not None and units.target_name in ranges.open
        bounded = ("coef_bound", "residual_bound", "rounds")
        return {
            "method": self.method_name,
            "regression": self.options.model.way.value,
            "selection_share": self.share,
            "range_share": self.options.division.range_share,
            **self._where_asked,
            "target_scale": None if drawn else units.target_scale,
            "target_offset": None if drawn else units.target_offset,
            "model_loss": loss,
            **{f"model_{name}": params[name] for name in bounded if name in params},
        }

    @cached_property
    def apart(self) -> HeldOut | None:
        """Rows that are kept apart from the fit; None where nothing is to be measured."""
        share, seed = self.options.division.quality_share, self.seed
        if share is None:
            return None
        source = random.SystemRandom() if seed is None else random.Random(f"quality {seed}")
        question, rows = self.drawn.question, self.source
        return HeldOut.of_table(rows, question, share, self.options.relation, source)

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """See `SupportPlan`; of unknown rows also how many the test of Tukey's mechanism needs."""
        told, widest = self.drawn.doubts(n), self.drawn.widest
        model = self.drawn.model_on(widest)
        if n is not None or not isinstance(model, TukeyRegressor):
            return told
        enough = float(f"{model.enough_rows(len(self.drawn.columns_of(widest))):.2g}")
        needs = f"--regression tukey needs about {enough:,.0f} rows at this ε"
        return (*told, f"{needs}: with far fewer {FAILS}")

    @property
    def rows(self) -> Any:
        """Rows that a model is fitted to: all but those that are kept apart."""
        return self.source if self.apart is None else ~self.apart.apart

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`; the number of rows is told where the score depends on it."""
        problem, n = self.drawn.scored(self.source).problem()
        return problem, None if self.drawn.blocks is None else n

    def data(self) -> StoredData:
        """See `TaskSource`; nothing is raised because of the rows."""
        made = self.drawn.scored(self.rows).made()
        return StoredData.of_made(Path(self.path), made, self.drawn.of_loss)

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `SupportPlan`."""
        return self.drawn.promised(stated)

    def report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """See `SupportPlan`."""
        return {"private": self.seed is None, **self.of_parts(self.together)}

    def show(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """See `SupportPlan`."""
        self._show_parts(console)
        if self.ledger is not None:
            before, after = self.ledger.remaining, self.ledger.after(self.total(stated))
            line(console, f"The ledger has {amount(before)} left, and would have {amount(after)}.")
        line(console, f"Guarantee: {self.together.of_unit(unit)}.")
        self._show_model(console)

    def show_terms(self, console: Console) -> None:
        """See `SupportPlan`."""
        self._show_parts(console)
        self._show_model(console)

    def draw(
        self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback
    ) -> FittedModel:
        """See `SupportPlan`."""
        source: random.Random = random.SystemRandom()
        if self.seed is not None:
            source = random.Random(self.seed)
        scored, drawn = data.drawn_from(), self.drawn
        made = drawn.rows_of_model(self.rows, scored)
        with without_numbers(self.method, NOT_SPENT):
            law = drawn.law(scored, source, progress)
            law.prepare()
        with without_numbers(self.method, spent_by(ledger)):
            sources, private = (source, source), self.seed is None
            model = drawn.release(law, scored, made, self.rows, ledger, sources, private=private)
            if self.apart is not None:
                model = self.apart.measured(model)
        return FittedModel(model, self.of_parts(model.guarantee))

    def _show_parts(self, console: Console) -> None:
        parts, options = self.parts, self.options
        ranges = ""
        if "ranges" in parts:
            ranges = f"{amount(parts['ranges'])} for ranges that nobody stated, "
        what = "the coefficients"
        if self.drawn.looks_for_ranges:
            what = "where most values lie within the ranges, and the coefficients"
        features = "nothing for the features, which are all that there are"
        if self.selects:
            features = f"{amount(parts['selection'])} for the features by {options.method}"
        elif self.released is not None:
            paid = amount(self.released.guarantee)
            features = f"nothing for the features, which {self.released.file} released for {paid}"
        by = options.model.way.value
        line(console, f"Cost: {features}, {ranges}{amount(parts['model'])} for {what} by {by}.")
        share = options.division.quality_share
        if share is not None:
            apart = f"{100.0 * share:.6g} % of the rows"
            line(console, f"Quality: on {apart}, kept apart from the fit, at no further ε.")

    def _show_model(self, console: Console) -> None:
        asked = self.settings
        told = {k.removeprefix("model_"): v for k, v in asked.items() if k.startswith("model_")}
        known = {k: v for k, v in told.items() if v is not None}
        parts = [f"{v} loss" if k == "loss" else f"{k} {v:g}" for k, v in known.items()]
        if parts:
            line(console, f"Model: {', '.join(parts)}")


@dataclass(frozen=True)
class FittedModel:
    """A released model, or features without one, where the private test failed.

    Attributes
    ----------
    model : ModelRelease
    guarantees : mapping
        Guarantees of all and of its parts, as part of a JSON object.
    """

    model: ModelRelease
    guarantees: Mapping[str, Any]

    @property
    def private(self) -> bool:
        """See `DrawnReleases`."""
        return self.model.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `DrawnReleases`."""
        if not self.model.has_model:
            return (NO_MODEL,)
        quality = self.model.quality
        return () if quality is None or quality.beats_chance else (quality.verdict,)

    @cached_property
    def coefficients(self) -> CoefficientTable | None:
        """The rows of the model; None where there is none."""
        return CoefficientTable.of(self.model) if self.model.has_model else None

    def report(self) -> Mapping[str, Any]:
        """See `DrawnReleases`."""
        model, table = self.model, self.coefficients
        intervals = None if table is None else table.intervals
        return {
            "private": model.private,
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.guarantees,
            "has_model": model.has_model,
            "model": model.to_dict(),
            "in_units": None if table is None else table.rule.to_dict(),
            "intervals": None if intervals is None else intervals.to_dict(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

    def show(self, console: Console, title: str, unit: str) -> None:
        """Print the model in the units of its table, and its guarantee."""
        model, table = self.model, self.coefficients
        if not model.private:
            banner(console, NOT_PRIVATE)
        kind = "released model" if model.private else "drawn model, not private"
        heading(console, f"{title}: {kind}")
        line(console, f"Features: {', '.join(model.feature_names)}")
        if table is None:
            line(console, "No model: the private test failed.")
        else:
            for text in (*table.lines(), *reading_notes(table, ELSEWHERE)):
                line(console, text)
        for drawn in model.drawn_ranges:
            line(
                console,
                f"Range of {drawn['field']}: {drawn['minimum']:g} to {drawn['maximum']:g}, "
                f"private, drawn with ε = {drawn['epsilon']:.6g}.",
            )
        if model.quality is not None:
            show_quality(console, model.quality)
        for note in model.footnotes:
            line(console, f"Note: {note}.")
        if model.private:
            told = model.guarantee.of_unit(unit)
            line(console, f"Guarantee of features and coefficients: {told}.")
