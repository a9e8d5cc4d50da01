"""`mipselect fit`: features and coefficients of a table, from the file to a released model."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from mipselect.privacy import Ledger
from mipselect.regression import ModelRelease, SelectThenRegress, TukeyRegressor
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from tests.support.commandline import TABLE, Outcome, Run
from tests.support.mapped_tables import map_table
from tests.support.stays import rows, written
from tests.support.wants import TABLES, wants_data

PLAIN = ("--target", "y", "--support-size", "1", "--epsilon", "200")


def fit(run: Run, path: Path, *more: str | Path, target: str = "stay") -> Outcome:
    return run(
        *("fit", path, "--schema", path.with_name("schema.json"), "--target", target),
        *("--support-size", "1", "--epsilon", "60", *more),
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "t.csv", rows(600))


def test_schema_target_size_and_epsilon_are_enough(run: Run, table: Path) -> None:
    outcome = fit(run, table, "--json")
    report = outcome.report
    assert outcome.unforeseen == ""
    assert report["private"] is True
    assert report["sensitive"] is False
    assert report["model"]["feature_names"] == ["ward"]
    assert report["guarantee"] == report["model"]["guarantee"]
    assert report["guarantee"]["epsilon"] == 60.0
    assert report["guarantee_of_selection"]["epsilon"] == 18.0
    assert report["guarantee_of_model"]["epsilon"] == 42.0
    assert report["method"] == "permute-and-flip"
    assert (report["score"], report["target_scale"]) == ("block-r2", 30.0)
    assert (report["model_loss"], report["model_coef_bound"]) == ("huber", None)
    assert (report["n"], report["protected_unit"], report["ledger"]) == (600, "id", None)
    text = fit(run, table).out
    for words in (
        "Features: ward", "stay = ", "ward is b and not a", "Not listed: 2 terms of the model",
        "It is 60-differentially private (pure)", "nothing remembers this release",
        "ε = 18 for the features by permute-and-flip", "loss of the model: huber",
        "replacing all rows of one id;", "the file of the release have them",
    ):  # fmt: skip
        assert words in text
    assert "one row" not in text
    assert "replacing all rows of one id;" in fit(run, table, "--dry-run").out


def test_fields_that_are_all_in_cost_nothing(run: Run, table: Path) -> None:
    asked = ("--schema", table.with_name("schema.json"), "--target", "stay", "--epsilon", "60")
    fields = TableSchema.read(asked[1]).features
    names = [field.name for field in fields if field.name not in ("stay", "id")]
    for size, never in ((len(names), ()), (len(names) - 1, ("--never", "ward"))):
        command = ("fit", table, *asked, "--support-size", str(size), *never)
        outcome = run(*command, "--json")
        assert outcome.code == 0, outcome.err
        report = outcome.report
        assert len(report["model"]["feature_names"]) == size
        assert (report["method"], report["selection_share"]) == ("all-features", 0.0)
        assert report["guarantee_of_selection"]["epsilon"] == 0.0
        assert report["guarantee_of_model"]["epsilon"] == report["guarantee"]["epsilon"] == 60.0
        text = run(*command, "--dry-run").out
        assert "Cost: ε = 0 for the features by all-features, ε = 60 for" in text
        one = run(*command, "--relation", "add-remove", "--json").report
        assert one["guarantee_of_model"]["epsilon"] == 60.0


def test_the_features_of_a_release_are_not_drawn_again(
    run: Run, table: Path, tmp_path: Path
) -> None:
    fields, model, again = (tmp_path / f"{name}.json" for name in ("fields", "model", "again"))
    schema = ("--schema", table.with_name("schema.json"), "--epsilon", "9", "--ledger")
    ledger = tmp_path / "study.ledger"
    run("ledger", "create", ledger, "--epsilon", "99")
    common = ("--target", "stay", *schema, ledger)
    select = ("select", table, *common, "--support-size", "2", "--always", "sex", "--output")
    assert run(*select, fields).code == 0
    asked = ("fit", table, *common, "--features-of", fields, "--quality-share", "0.2")
    text = run(*asked, "--dry-run").out
    assert "Cost: ε = 0 for the features, which fields.json released, ε = 9 for" in text
    report = run(*asked, "--output", model, "--json").report
    drawn = {*json.loads(fields.read_text())["releases"][0]["feature_names"], "sex"}
    assert set(report["model"]["feature_names"]) == drawn
    assert report["guarantee_of_model"]["epsilon"] == report["guarantee"]["epsilon"] == 9.0
    assert report["features_of"]["sha256"] == sha256(fields.read_bytes()).hexdigest()
    adjusted = run(*asked, "--always", "sex", "--json").report
    assert adjusted["always"] == ["sex"]
    assert set(adjusted["model"]["feature_names"]) == drawn - {"sex"}
    both = run("report", fields, model, "--json")
    assert (both.report["notes"], both.err) == ([], "")
    assert "on the fields of fields.json; ε = 9" in run("report", fields, model).out
    assert "counts by itself" in run("report", model).out
    alone = "The fields of model.json were released before, by a file that is not in this report"
    assert alone in run("report", model).err
    assert run("fit", table, *common, "--features-of", model, "--output", again).code == 0
    saved = tmp_path / "saved.json"
    ModelRelease.from_dict(adjusted["model"]).save(saved)
    again_asked = ("fit", table, *common, "--features-of", saved, "--dry-run", "--json")
    assert set(run(*again_asked).report["features"]) == drawn
    ledger_before = len(Ledger.open(ledger).entries)
    for more, words in (
        (("--support-size", "2"), "one of them"),
        (("--never", f'"{min(drawn - {"sex"})}"'), "is none of"),
        (("--output", fields, "--replace"), "is what is read"),
        (("--target", "died"), "is about stay, and --target is died"),
    ):
        run(*asked, *more).failed_with(2, words)
    run(*select, fields, "--replace", "--seed", "1")
    run(*asked).failed_with(2, "fields.json: is sensitive")
    assert len(Ledger.open(ledger).entries) <= ledger_before + 2


def test_a_target_of_ordered_categories_is_a_number_and_says_so(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(60))
    place = path.with_name("schema.json")
    content = json.loads(place.read_text())
    for field in content["fields"]:
        if field["name"] == "ward":
            field["categoriesOrdered"] = True
    place.write_text(json.dumps(content))
    note = "note: ward is taken as a number, the place among its ordered categories: 0 for a, "
    asked = ("--schema", place, "--target", "ward", "--support-size", "1", "--epsilon", "1")
    for command in (("select", path, *asked), ("fit", path, *asked)):
        for more in ((), ("--dry-run",)):
            outcome = run(*command, *more)
            assert (outcome.code, outcome.err.count(note)) == (0, 1)
    fitted = run("fit", path, *asked)
    assert "ward from 0 (a) to " in fitted.out
    assert "A coefficient is in steps of ward, with noise" in fitted.out
    assert "a step is from a to b, " in fitted.out
    moments = ("moments", path, "--schema", place, "--target", "ward")
    assert note in run(*moments, "--output", tmp_path / "m.npz").err
    assert note not in run(*moments[:-1], "stay", "--output", tmp_path / "n.npz").err


@pytest.mark.parametrize("never", ["sex,ward,stay", "stay"])
@pytest.mark.parametrize(("options", "score"), [((), "block-r2"), (("--score", "loss"), "loss")])
def test_two_classes_are_found_by_blocks(
    run: Run, table: Path, never: str, options: tuple[str, ...], score: str
) -> None:
    asked = ("--schema", table.with_name("schema.json"), "--target", "died", "--never", never)
    command = ("fit", table, *asked, "--support-size", "1", "--epsilon", "9", "--json", *options)
    planned, report = run(*command, "--dry-run").report, run(*command).report
    assert planned.get("score", "loss") == report.get("score", "loss") == score
    assert report["selection_share"] == (0.5 if score == "loss" else 0.3)


def test_the_file_is_the_model_and_its_equation(run: Run, table: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.json"
    assert fit(run, table, "--always", "sex", "--output", output).code == 0
    model = ModelRelease.load(output)
    report = json.loads(output.read_text())
    assert model.to_dict() == report["model"]
    assert model.in_units.to_dict() == report["in_units"]
    assert model.table is not None
    assert (model.table.always, model.table.unit) == (("sex",), "id")
    kept = {field.name for field in model.table.schema.fields}
    assert kept == {"sex", "ward", "stay"}
    # By hand, on the rows of the public map.
    mapped = map_table(table, TableSchema.read(table.with_name("schema.json")), target="stay")
    columns = [mapped.column_names.index(name) for name in model.columns]
    scaled = mapped.X[:, columns].astype(float) @ model.coefficients + model.intercept
    np.testing.assert_allclose(model.predict(table), 30.0 + 30.0 * scaled, rtol=1e-9, atol=1e-9)
    assert np.corrcoef(30.0 + 30.0 * scaled, 30.0 + 30.0 * mapped.y)[0, 1] > 0.95


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ((), (18.0, 42.0)),
        (("--relation", "add-remove"), (15.0, 45.0)),
        (("--score", "loss"), (30.0, 30.0)),
        (("--score", "blocks"), (18.0, 42.0)),
        (("--model-loss", "squared"), (18.0, 42.0)),
    ],
)
def test_every_way_costs_what_was_asked_and_is_charged_once(
    run: Run, table: Path, more: tuple[str, ...], parts: tuple[float, float]
) -> None:
    relation = "add-remove" if "add-remove" in more else "replace-one"
    file = table.with_name("study.ledger")
    ledger = Ledger.create(file, epsilon=100.0, delta=1e-3, relation=relation)
    command = ("fit", table, "--schema", table.with_name("schema.json"), "--target", "stay")
    command += ("--support-size", "1", "--epsilon", "60", "--never", "died", *more)
    command += ("--ledger", file, "--json")
    planned = run(*command, "--dry-run").report
    assert ledger.entries == ()
    assert planned["ledger"]["would_remain"]["epsilon"] == pytest.approx(40.0)
    report = run(*command).report
    (entry,) = ledger.entries
    assert entry.guarantee.to_dict() == report["guarantee"]
    assert (entry.guarantee.epsilon, entry.guarantee.delta) == (pytest.approx(60.0), 0.0)
    assert entry.guarantee.epsilon <= 60.0
    assert entry.asked["selection_share"] == report["selection_share"]
    told = tuple(report[f"guarantee_of_{name}"]["epsilon"] for name in ("selection", "model"))
    assert told == pytest.approx(parts)
    assert planned["guarantee"]["epsilon"] == report["guarantee"]["epsilon"]
    assert (report["n"] is None) == (relation == "add-remove")
    assert "ward" in report["model"]["feature_names"]
    assert ModelRelease.from_dict(report["model"]).predict(table).std() > 10.0
    run(*command).failed_with(1, "nothing was drawn")
    assert len(ledger.entries) == 1


def test_two_classes(run: Run, table: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.json"
    more = ("--never", "stay", "--output", output, "--replace")
    report = fit(run, table, *more, "--json", target="died").report
    assert report["model"]["feature_names"] == ["age"]
    assert report["model"]["classes"] == [False, True]
    assert report["model_loss"] == "logistic"
    assert set(ModelRelease.load(output).predict(table)) == {False, True}
    text = fit(run, table, *more, target="died").out
    assert "log-odds of died=true = " in text
    assert re.search(r"odds × \S+ +per unit of age\n", text)
    run_of_numbers = fit(run, table, *more, "--model-loss", "squared", target="died")
    run_of_numbers.failed_with(2, "--model-loss", "squared is for a target of a number")


def test_numbers_without_a_schema(run: Run, folder: Path) -> None:
    output = folder / "model.json"
    command = ("fit", folder / "data.csv", *PLAIN)
    report = run(*command, "--output", output, "--json").report
    assert report["model"]["feature_names"] == ["a"]
    model = ModelRelease.load(output)
    (term,) = model.in_units.terms
    assert term.kind == "number"
    found = model.predict(folder / "data.csv")
    a = np.array([float(line.split(",")[0]) for line in TABLE.splitlines()[1:]])
    # Columns are stored in single precision.
    np.testing.assert_allclose(found, model.in_units.intercept + term.coefficient * a, rtol=1e-5)
    planned = run(*command, "--dry-run", "--json").report
    assert planned["features"] == report["features"] == ["a", "b", "c"]
    assert run(*command, "--features", "b,c", "--json").report["features"] == ["b", "c"]
    (folder / "data.csv").write_text("a,b,y\n1,2,3\n1,red,3\n")
    run(*command).failed_with(2, "(sensitive)", "line 3, column 'b' holds no finite number")


def test_no_range_at_all(run: Run, folder: Path) -> None:
    output, ledger = folder / "model.json", folder / "study.ledger"
    Ledger.create(ledger, epsilon=200.0)
    command = ("fit", folder / "data.csv", *PLAIN)
    planned = run(*command, "--dry-run", "--json", "--ledger", ledger).report
    assert planned["ranges"] == "private"
    assert (planned["target_scale"], planned["guarantee_of_ranges"]["epsilon"]) == (None, 40.0)
    assert Ledger.open(ledger).remaining.epsilon == 200.0
    outcome = run(*command, "--json", "--output", output, "--ledger", ledger)
    report = outcome.report
    assert "State typical ranges if anyone knows them" in outcome.err
    assert "rows times epsilon is 5,000 or more" in outcome.err
    assert report["guarantee"]["epsilon"] == 200.0
    parts = [report[f"guarantee_of_{part}"]["epsilon"] for part in ("selection", "ranges", "model")]
    assert parts == [60.0, 40.0, 100.0]
    assert Ledger.open(ledger).remaining.epsilon == 0.0
    drawn = {each["field"]: each for each in report["drawn_ranges"]}
    assert set(drawn) == {*report["model"]["feature_names"], "y"}
    assert all(each["private"] and each["epsilon"] == 20.0 for each in drawn.values())
    assert ModelRelease.load(output).drawn_ranges == report["drawn_ranges"]
    assert "was found privately, with ε = 20" in run("report", output).out
    text = run(*command, "--seed", "1").out
    for words in ("ε = 40 for ranges", "The range of y, ", "was found privately, with ε = 20 of"):
        assert words in text


def test_ranges_that_a_schema_does_not_state(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(600))
    schema = path.with_name("schema.json")
    content = json.loads(schema.read_text())
    for entry in content["fields"]:
        if entry["name"] in ("stay", "age"):
            del entry["constraints"]["minimum"]
    schema.write_text(json.dumps(content))
    fit(run, path).failed_with(2, "says too little", "constraints.minimum")
    report = fit(run, path, "--ranges", "private", "--json").report
    assert [each["field"] for each in report["drawn_ranges"]] == ["stay"]


def test_a_dry_run_touches_nothing(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [["\x00"] * 7])
    ledger = Ledger.create(tmp_path / "l", epsilon=60.0, unit="patient")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for more in ((), ("--score", "loss")):
        outcome = fit(run, path, *more, "--ledger", tmp_path / "l", "--dry-run", "--json")
        plan = outcome.report
        assert outcome.unforeseen == ""
        assert plan["dry_run"] is True
        assert (plan["n"], plan["sensitivity"]) == (None, None)
        assert plan["ledger"]["would_remain"]["epsilon"] == 0.0
        assert "model" not in plan
    text = fit(run, path, "--ledger", tmp_path / "l", "--dry-run").out
    assert "Budget: the ledger has ε = 60 left, and would have ε = 0." in text
    assert "Guarantee: 60-differentially private (pure)" in text
    assert ledger.entries == ()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    path.write_text("id,age\n1,2\n")
    fit(run, path, "--dry-run").failed_with(2, "there is no column")


def test_the_relation_of_a_ledger_hides_n_and_what_follows_from_it(
    run: Run, tmp_path: Path
) -> None:
    path, file = written(tmp_path / "t.csv", rows(20)), tmp_path / "study.ledger"
    outcome = fit(run, path, "--epsilon", "0.01", "--json")
    assert outcome.report["nearly_blind"] is True
    assert "warning: " in outcome.err
    ledger = Ledger.create(file, epsilon=60.0, relation="add-remove", unit="patient")
    hidden = fit(run, path, "--epsilon", "0.01", "--ledger", file, "--json")
    report = hidden.report
    assert (report["nearly_blind"], report["n"], hidden.unforeseen) == (None, None, "")
    assert report["guarantee"]["relation"] == "add-remove"
    assert (report["ledger"]["unit"], len(ledger.entries)) == ("patient", 1)


def test_a_seed_marks_the_model(run: Run, table: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.json"
    one = fit(run, table, "--seed", "1", "--json", "--output", output).report
    two = fit(run, table, "--seed", "1", "--json").report
    assert one["model"] == two["model"]
    assert (one["private"], one["sensitive"]) == (False, True)
    assert "NOT PRIVATE" in one["warning"]
    assert output.stat().st_mode & 0o777 == 0o600
    assert "NOT PRIVATE" in fit(run, table, "--seed", "1").out


def test_no_model_is_an_answer_too(run: Run, table: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.json"
    tukey = TukeyRegressor(epsilon=0.1, delta=1e-9)
    schema = TableSchema.read(table.with_name("schema.json"))
    fitted = SelectThenRegress(PermuteAndFlipSelector(1), tukey)
    fitted.fit_table(table, schema, target="stay").release_.save(output)
    run("predict", output, table).failed_with(2, "no model was released")
    assert "a private test found too little in the data" in run("report", output).out


@wants_data
def test_a_real_table_from_file_to_predictions(run: Run, repository: Path, tmp_path: Path) -> None:
    """A draw in a hundred or so explains little, so that the best of three counts."""
    import pandas as pd

    data, explained = TABLES / "bike_sharing_hour.csv.gz", []
    schema, found = repository / "docs/tables/bikes.schema.json", tmp_path / "found.csv"
    model = tmp_path / "model.json"
    asked = ("--schema", schema, "--target", "cnt", "--support-size", "4", "--epsilon", "4")
    never = ("--never", "instant,dteday,casual,registered", "--output", model, "--replace")
    for _ in range(3):
        outcome = run("fit", data, *asked, *never)
        assert outcome.code == 0
        assert all("scoring blocks" in message for message in outcome.unforeseen.splitlines())
        assert run("predict", model, data, "--output", found, "--replace").code == 0
        y, predicted = (pd.read_csv(path)["cnt"] for path in (data, found))
        explained.append(1.0 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert max(explained) > 0.5
