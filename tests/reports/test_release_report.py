"""A report on objects: sums, sentences, sources, and each coefficient of every kind of model."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import compose, conclusion, factor
from mipselect.quality import Measure, Quality
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.regression.rows import RowMap
from mipselect.reports import ReleaseReport
from mipselect.reports.methods import AUTHORS, PRIVACY, REGRESSIONS, TITLE, described
from mipselect.reports.release_report import LedgerNote, ReportedRelease
from mipselect.selectors import BY_NAME, ExponentialSelector
from mipselect.tables import TableSchema
from tests.support.fields import schema_of
from tests.support.pages import checked_page, markdown_tables
from tests.support.patients import SCHEMA, patients


def released(epsilon: float = 1.0, **more: Any) -> Release:
    guarantee = Guarantee(epsilon, **{"relation": "replace-one", **more})
    return Release((0, 2), ("age", "dose"), guarantee, "exponential", True)


def quality(
    name: str = "R²", value: float | None = 0.68, low: float = 0.6, high: float = 0.75
) -> Quality:
    return Quality(measures=(Measure(name, value, low, high),), guarantee=Guarantee(0.5))


def reported(name: str = "a.json", **more: Any) -> ReportedRelease:
    fields = {"guarantee": Guarantee(1.0), "selection": released(), **more}
    return ReportedRelease(name=name, **fields)


def report(*releases: ReportedRelease) -> ReleaseReport:
    return ReleaseReport(title="A study", releases=releases)


def spent(text: str) -> list[list[str]]:
    """The table of costs."""
    return next(t for t in markdown_tables(text) if t[0][0] == "release")


def test_the_total_is_the_composition_of_all() -> None:
    epsilons = [0.1, 0.2, 0.7, 1.3]
    made = ReleaseReport.of([released(e, delta=1e-7) for e in epsilons])
    expected = compose([Guarantee(e, 1e-7) for e in epsilons], "replace-one")
    assert made.total == expected
    assert Fraction(str(made.total.epsilon)) == Fraction("2.3")
    table = spent(made.markdown())
    assert [float(row[2]) for row in table[2:-1]] == epsilons
    assert table[-1] == ["together", "", "2.3", "4e-07", "replace-one"]


def test_relations_are_mixed_by_the_rule_of_two_steps() -> None:
    made = ReleaseReport.of([released(0.5, relation="add-remove"), released(1.0)])
    assert (made.total.epsilon, made.total.relation) == (2.0, "replace-one")
    assert "counts twice its ε" in made.markdown()
    alone = ReleaseReport.of([released(0.5, relation="add-remove")])
    assert (alone.total.epsilon, alone.total.relation) == (0.5, "add-remove")
    assert "if this person were not in the table" in alone.markdown()
    assert "whether a person is in the table" in alone.markdown()
    assert "twice" not in alone.markdown()


def test_conditions_of_all_releases_stand_in_the_report() -> None:
    made = ReleaseReport.of([released(conditions=("n is right",)), released()])
    assert "n is right" in made.markdown()


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1.0, 2.0, 7.7, 19.9])
def test_factors_and_conclusions_are_rounded_up(epsilon: float) -> None:
    stated = float(factor(epsilon))
    assert math.exp(epsilon) <= stated <= 1.01 * math.exp(epsilon)
    # By Bayes, of two tables with equal probability before, with e^ε between their likelihoods.
    exactly = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    assert exactly <= float(conclusion(epsilon).removesuffix(" %")) / 100 <= exactly + 1e-3


def test_one_epsilon_in_plain_words() -> None:
    text = ReleaseReport.of([released(1.0)]).markdown()
    assert "a factor of 2.72, which is e^ε for ε = 1" in text
    assert "for ε = 1, if this person had given any other answers." in text
    assert "sure of one to 73.2 % at most" in text
    assert "δ" not in text.split("What is guaranteed")[1].split("What the guarantee does not")[0]
    assert "weak" not in text
    assert "That is a weak limit" in ReleaseReport.of([released(6.0)]).markdown()
    huge = ReleaseReport.of([released(50.0)]).markdown()
    assert "no protection to speak of" in huge
    assert "For example" not in huge


def test_delta_is_said_as_one_in_so_many() -> None:
    text = ReleaseReport.of([released(1.0, delta=1e-6)]).markdown()
    assert "a probability of δ = 1e-06 in all, about one in 1,000,000" in text


def test_quality_in_plain_words() -> None:
    good = ReleaseReport.of([quality()]).markdown()
    assert r"Better than predicting the mean: R² 0.680 in \[0.600, 0.750\] (90 % interval)." in good
    assert "R² is the share of the variation of the target" in good
    assert "covers the true value in 90 % of repetitions" in good
    assert "Not known" not in good
    poor = ReleaseReport.of([quality(low=-0.1)])
    assert "> **Not known to be better than predicting the mean" in poor.markdown()
    assert 'class="alert"' in poor.html()
    unknown = ReleaseReport.of([quality(value=None, low=-math.inf)]).markdown()
    assert "Not known to be better than predicting the mean: R² unknown, at most 0.750" in unknown
    blind = ReleaseReport.of([quality(value=0.483, low=-math.inf)]).markdown()
    assert "0.48" not in blind
    assert "AUC is how often" in ReleaseReport.of([quality("AUC")]).markdown()


def test_accuracy_stands_beside_always_naming_the_same_class() -> None:
    of_classes = replace(
        quality("AUC"),
        measures=(
            Measure("AUC", 0.83, 0.8, 0.86),
            Measure("accuracy", 0.77, 0.75, 0.8),
            Measure("share of the second class", 0.347, 0.3, 0.4),
        ),
    )
    text = ReleaseReport.of([of_classes]).markdown()
    assert r"- accuracy at one half 0.770 in \[0.750, 0.800\]" in text
    assert "- naming the more frequent class in every row is right in 0.653" in text


def test_fields_are_named_among_those_that_could_be_drawn() -> None:
    one = reported(
        selection=replace(released(), feature_names=("age", "dose")), candidates=tuple("abcdefgh")
    )
    text = report(one).markdown()
    (drawn,) = (t for t in markdown_tables(text) if t[0] == ["field that was drawn"])
    assert drawn[2:] == [["age"], ["dose"]]
    assert "A random draw of 2 fields among 8 fields." in text
    assert "Near chance" not in text
    assert "> **Near chance" in report(replace(one, near_chance=True)).markdown()


def test_a_seeded_draw_is_refused() -> None:
    seeded = Release((0,), ("age",), Guarantee(1.0), "exponential", False)
    with pytest.raises(InvalidInput, match="release 2: is not private, for it was drawn with"):
        ReleaseReport.of([released(), seeded])


NOTE = LedgerNote("ab12", "patient", 2, "f" * 64)


def test_the_unit_of_a_ledger_is_a_condition_where_nothing_says_whose_row_it_is() -> None:
    made = report(reported(ledger=NOTE))
    text = made.markdown()
    assert "It is about one patient only on the condition that no patient has more than" in text
    assert "| conditions | no patient has more than one row |" in text
    of_people = replace(made.releases[0], unit="id", settings={"unit_rule": "last"})
    said = replace(made, releases=(of_people,)).markdown()
    assert "the same id, made one row, which stands for one patient: it covers" in said
    assert "Of all rows with the same id the last in the order of the file counts" in said
    assert "more than one row" not in said
    assert made.warnings == []


def test_rows_of_people_are_counted_as_people() -> None:
    """4,000 stays of 1,909 patients are 1,909 rows of the fit."""
    of_rows = replace(reported(data="y.csv"), settings={"n": 1909})
    assert "from y.csv, 1,909 rows; " in report(of_rows).markdown()
    of_people = replace(of_rows, unit="id", settings={"n": 1909, "unit_rule": "last"})
    assert "from y.csv, 1,909 rows, one for each id; " in report(of_people).markdown()


def test_a_model_that_was_not_released() -> None:
    model = ModelRelease(
        support=(0,), feature_names=("age",), guarantee=Guarantee(1.0, 1e-6), mechanism="tukey",
        private=True, coefficients=None, intercept=0.0, rows=RowMap(1, False, row_bound=1.0),
    )  # fmt: skip
    text = ReleaseReport.of([model]).markdown()
    assert "1 field in the model: age." in text
    assert "No coefficients were released" in text
    assert "what differs" not in text


def test_what_speaks_against_one_account() -> None:
    other = replace(NOTE, identity="cd34", hash="e" * 64)
    several = report(
        reported("a", ledger=NOTE, data="x.csv"),
        reported("b", ledger=other, data="y.csv", unit="id"),
        reported("c"),
    )
    text = several.markdown()
    for words in (
        "charged to 2 ledgers (ab12 and cd34)", "c was charged to no ledger",
        "of 2 tables (x.csv and y.csv)", "different units: row and id",
    ):  # fmt: skip
        assert any(words in warning for warning in several.warnings), words
        assert words in text.replace("\\", "")
    assert len(several.warnings) == 4


def test_sources_are_those_of_the_package(repository: Path) -> None:
    cff = (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert AUTHORS in cff
    assert TITLE in cff
    known = (repository / "docs" / "references.md").read_text(encoding="utf-8")
    named = [*BY_NAME, *REGRESSIONS]
    for paper in {each for name in named for each in described(name)[1:]} | {PRIVACY}:
        authors, title, year = re.fullmatch(r"(.+), “(.+)”, (\d{4}),", paper.text).groups()
        line = f'- {authors}, "{title}", {year}, [{paper.words}]({paper.address})'
        assert line in known, line


def test_every_method_and_regression_has_its_paper() -> None:
    for name in (*BY_NAME, *REGRESSIONS):
        words, *papers = described(name)
        assert papers, words
    text = report(reported(method="sis", version="0.2.0")).markdown()
    assert "arXiv:2408.10862" in text
    assert "Version 0.2.0." in text


def test_a_report_is_of_releases() -> None:
    with pytest.raises(InvalidInput, match="one release or more"):
        ReleaseReport.of([])
    with pytest.raises(InvalidInput, match="release 1: a report is of Release"):
        ReleaseReport.of(["age"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="deltas add up"):
        ReleaseReport.of([released(1.0, delta=0.5)] * 2)


@pytest.mark.deep
def test_a_report_imports_no_selector_to_say_what_it_is() -> None:
    program = (
        "import sys; from mipselect.reports.methods import described; described('sis');"
        "sys.exit([m for m in sys.modules if m.startswith(('mipselect.selectors.', "
        "'mipselect.mechanisms', 'mipselect.search', 'numpy'))] or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


MODELS: dict[str, Any] = {
    "squared": ObjectivePerturbationRegressor(),
    "huber": ObjectivePerturbationRegressor(loss="huber(0.25)"),
    "adassp": AdaSSPRegressor(delta=1e-6),
    "boosted": BoostedAdaSSPRegressor(delta=1e-6),
    "tukey": TukeyRegressor(delta=1e-6),
    "logistic": ObjectivePerturbationClassifier(),
}
ORDERED = [
    {**field, "categoriesOrdered": True} if field["name"] == "ward" else field
    for field in SCHEMA.content["fields"]
]


def fitted(kind: str, schema: TableSchema = SCHEMA) -> ModelRelease:
    target, other = ("died", "stay") if kind == "logistic" else ("stay", "died")
    pair = SelectThenRegress(ExponentialSelector(1), MODELS[kind], epsilon=20.0)
    question: dict[str, Any] = {"target": target, "always": ["sex", "age"], "never": [other]}
    release: ModelRelease = pair.fit_table(patients(3000), schema, **question).release_
    return release


@pytest.mark.parametrize("schema", [SCHEMA, TableSchema.of({"fields": ORDERED})])
@pytest.mark.parametrize("kind", MODELS)
def test_every_coefficient_is_there_once(kind: str, schema: TableSchema) -> None:
    release = fitted(kind, schema)
    made = ReleaseReport.of([release])
    text = made.markdown()
    checked_page(made.html())
    assert all(paper.words in text for paper in REGRESSIONS[release.regression][1:])
    if not release.has_model:
        assert "No coefficients were released" in text
        return
    told = release.to_frame().query("not aside").to_dict("records")
    tables = markdown_tables(text)
    (table,) = (t for t in tables if t[0][0] == "what differs")
    assert len(table) - 2 == len(told)
    for row, found in zip(table[2:], told, strict=True):
        number = row[1].replace("\\", "")
        assert float(number) == pytest.approx(found["coefficient"], rel=1e-3)
    assert ("odds" in table[0]) == (kind == "logistic")


def test_a_unit_is_said_once() -> None:
    age, *rest = SCHEMA.content["fields"]
    text = ReleaseReport.of(
        [fitted("huber", schema_of({**age, "unit": "years"}, *rest))]
    ).markdown()
    assert "| per year of age |" in text


def test_fields_that_were_drawn_may_be_there_by_chance() -> None:
    drawn = fitted("huber")
    assert "may be there by chance" in ReleaseReport.of([drawn]).markdown()
    for mechanism in ("all features, then objective", drawn.mechanism.split(", then ")[-1]):
        known = replace(drawn, mechanism=mechanism)
        assert "by chance" not in ReleaseReport.of([known]).markdown()
