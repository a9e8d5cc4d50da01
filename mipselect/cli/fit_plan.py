"""A selection and a model of a table, planned before a row is read, and drawn as one release."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.output import NOT_PRIVATE, heading, line
from mipselect.cli.releasing import NOT_SPENT, ReleasePlan, Result, spent_by, without_numbers
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import amount
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.regression import ModelRelease, SelectThenRegress
from mipselect.regression.coefficients import LEVEL, CoefficientTable, summary_text
from mipselect.regression.evaluation import HeldOut
from mipselect.regression.plan import TablePlan
from mipselect.regression.shares import share_of_selection
from mipselect.reports.released import ReportedRelease
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.selectors.base import PrivateSelector

ALL_FEATURES = "all-features"
"""Name of the method in reports and ledgers where nothing is drawn."""

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)

ELSEWHERE = "the file of --output has them"


@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan(ReleasePlan):
    """A selection and a model of a table, which is its own source.

    Attributes
    ----------
    name, regression : str
        Of the method and the regression on the command line.
    fitter : SelectThenRegress
    drawn : TablePlan
    delta : float
        δ of all together.
    path : str
        That of the table, as it was given.
    source : object
        What its rows are read from; None where no row was read.
    released : ReportedRelease or None
        Where the features are from, if they were not to be drawn.
    """

    name: str
    regression: str
    fitter: SelectThenRegress
    drawn: TablePlan
    delta: float
    path: str
    source: Any = field(repr=False)
    released: ReportedRelease | None

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
        return self.name if self.selects else ALL_FEATURES

    @property
    def together(self) -> Guarantee:
        """See `ReleasePlan`; not private if seeded."""
        return replace(self.drawn.promise, private=self.seed is None)

    @property
    def parts(self) -> dict[str, Guarantee]:
        """Guarantees of the parts, by name: the selection, ranges that are drawn, the model."""
        relation, ranges = self.drawn.regressor.relation, self.drawn.ranges
        selection = self.method.guarantees[relation]
        drawn = {} if ranges is None else {"ranges": ranges.guarantee}
        return {"selection": selection, **drawn, "model": self.drawn.model_promise}

    def of_parts(self, together: Guarantee) -> dict[str, Any]:
        """Return a guarantee as part of a JSON object, and those of its parts."""
        return {
            "guarantee": together.to_dict(),
            **{f"guarantee_of_{name}": part.to_dict() for name, part in self.parts.items()},
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """Public settings besides those of the problem and the method: parts, and the model."""
        fitter, public, one = self.fitter, self.drawn.public, self.released
        in_blocks = self.drawn.blocks is not None
        share = share_of_selection(fitter.selection_share, in_blocks=in_blocks)
        regressor = self.drawn.model_on(self.drawn.widest)
        model = regressor.get_params(deep=False)
        bounded = ("coef_bound", "residual_bound", "rounds")
        ranges = self.drawn.ranges
        found = {
            "method": self.method_name,
            "regression": self.regression,
            "selection_share": share if self.selects else 0.0,
            "range_share": fitter.range_share,
            "target_scale": public.target.scale,
            "target_offset": public.target.offset,
            "model_loss": getattr(regressor, "loss", None),
            **{f"model_{name}": model[name] for name in bounded if name in model},
        }
        if ranges is not None:
            found["ranges"] = fitter.ranges
            if public.target_name in ranges.open:
                found |= {"target_scale": None, "target_offset": None}
        if fitter.quality_share is not None:
            found["quality_share"] = fitter.quality_share
        if one is not None:
            found["features_of"] = {"file": one.name, "sha256": one.digest}
        return found

    @property
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings of the problem."""
        told = {name: value for name, value in self.settings.items() if value is not None}
        return {**told, "epsilon": self.fitter.epsilon, "delta": self.delta}

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """See `ReleasePlan`."""
        return self.drawn.doubts(n)

    @cached_property
    def apart(self) -> HeldOut | None:
        """Rows that are kept apart from the fit; None where nothing is to be measured."""
        share, relation = self.fitter.quality_share, self.drawn.regressor.relation
        if share is None:
            return None
        source = (
            random.SystemRandom() if self.seed is None else random.Random(f"quality {self.seed}")
        )
        return HeldOut.of_table(self.source, self.drawn.question, share, relation, source)

    @property
    def rows(self) -> Any:
        """Rows that a model is fitted to: all but those that are kept apart."""
        return self.source if self.apart is None else self.apart.fitted

    def problem(self) -> tuple[Problem, int | None]:
        """See `ProblemSource`; the number of rows is told where the score depends on it."""
        problem, n = self.drawn.scored(self.source).problem()
        return problem, None if self.drawn.blocks is None else n

    def data(self) -> StoredData:
        """See `ProblemSource`; nothing is raised because of the rows."""
        made = self.drawn.scored(self.rows).made()
        return StoredData.of_made(Path(self.path), made, self.drawn.of_loss)

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `ReleasePlan`."""
        return self.drawn.promised(stated)

    def report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """See `ReleasePlan`."""
        return {"private": self.seed is None, **self.of_parts(self.together)}

    def terms(self, stated: Mapping[str, Guarantee], unit: str) -> list[str]:
        """See `ReleasePlan`."""
        guarantee = f"Guarantee: {self.together.of_unit(unit)}."
        return [*self.cost_of_parts(), *self.budget(self.total(stated)), guarantee]

    def cost_of_parts(self) -> list[str]:
        """See `ReleasePlan`."""
        parts = self.parts
        features = "nothing for the features, which are all that there are"
        if self.selects:
            features = f"{amount(parts['selection'])} for the features by {self.name}"
        elif self.released is not None:
            paid = amount(self.released.guarantee)
            features = f"nothing for the features, which {self.released.name} released for {paid}"
        if "ranges" in parts:
            features += f", {amount(parts['ranges'])} for ranges that nobody stated"
        what = "the coefficients"
        if self.drawn.looks_for_ranges:
            what = "where most values lie within the ranges, and the coefficients"
        found = [f"Cost: {features}, {amount(parts['model'])} for {what} by {self.regression}."]
        if (share := self.fitter.quality_share) is not None:
            apart = f"{100.0 * share:.6g} % of the rows"
            found.append(f"Quality: on {apart}, kept apart from the fit, at no further ε.")
        return found

    def draw(self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback) -> Result:
        """See `ReleasePlan`."""
        private = self.seed is None
        source = random.SystemRandom() if private else random.Random(self.seed)
        scored, drawn = data.drawn_from(), self.drawn
        model_of = drawn.model_of(self.rows, scored)
        with without_numbers(self.method, NOT_SPENT):
            law = drawn.law(scored, source, progress)
            law.prepare()
        with without_numbers(self.method, spent_by(ledger)):
            sources = (source, source)
            model = drawn.draw(law, model_of, ledger, sources, private=private)
            if self.apart is not None:
                model = self.apart.measured(model)
        return self._answer(model)

    def _answer(self, model: ModelRelease) -> Result:
        """Say what is in a model, or in features without one, where the private test failed."""
        table = CoefficientTable.of(model) if model.has_model else None
        report = {
            "private": model.private,
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.of_parts(model.guarantee),
            "has_model": model.has_model,
            "model": model.to_dict(),
            "in_units": None if table is None else table.rule.to_dict(),
            "intervals": None if table is None else table.intervals(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

        def show(console: Console, unit: str) -> None:
            """Print the model in the units of its table; its guarantee says its own unit."""
            kind = "released model" if model.private else "drawn model, not private"
            heading(console, f"{self.title}: {kind}")
            for text in summary_text(model, LEVEL, ELSEWHERE).splitlines():
                line(console, text)
            for drawn in model.drawn_ranges:
                line(
                    console,
                    f"Range of {drawn['field']}: {drawn['minimum']:g} to {drawn['maximum']:g}, "
                    f"private, drawn with ε = {drawn['epsilon']:.6g}.",
                )

        quality, warnings = model.quality, tuple[str, ...]()
        if not model.has_model:
            warnings = (NO_MODEL,)
        elif quality is not None and not quality.beats_chance:
            warnings = (quality.verdict,)
        return Result(report=report, show=show, warnings=warnings)
