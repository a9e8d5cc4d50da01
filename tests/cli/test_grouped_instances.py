"""Stored instances with features of several columns: every command speaks of features rightly."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from mipselect import Instance, load_instance
from mipselect.tables import TableSchema
from tests.support.commandline import Run
from tests.support.fields import listed, numeric


def test_solve_shows_a_coefficient_for_every_column(run: Run) -> None:
    instance = load_instance("tiny-groups")
    report = run("solve", "tiny-groups", "--pool-size", "15", "--json").report
    assert (report["p"], report["n_features"], report["number_of_supports"]) == (11, 6, 15)
    values = [instance.objective(s) for s in itertools.combinations(range(6), 2)]
    assert report["values"] == pytest.approx(sorted(values))
    best, fit = report["best"], instance.fit([0, 1])
    assert (best["support"], best["names"]) == ([0, 1], ["ward", "dose"])
    assert best["columns"] == ["ward=b", "ward=c", "ward=d", "dose", "dose=missing"]
    assert best["always"] == ["age", "(intercept)"]
    np.testing.assert_allclose([*best["coef"], *best["always_coef"]], [*fit.coef, *fit.always])
    assert "in_units" not in best
    for method in ("top-r", "mistakes"):
        text = run("solve", "tiny-groups", "--method", method).out
        for name in (*best["columns"], *best["always"]):
            assert name in text
        assert f"{fit.always[0]:.6g}" in text


def test_solve_speaks_the_language_of_a_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "ward,age,stay\n"
        + "".join(f"{'ab'[k % 2]},{20 + k},{10 + 20 * (k % 2)}\n" for k in range(40))
    )
    (tmp_path / "s.json").write_text(json.dumps({"fields": [
        listed("ward", "a", "b"),
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        numeric("stay", 0, 60),
    ]}))  # fmt: skip
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    asked = ("solve", table, "--schema", schema, "--target", "stay", "--support-size", "1")
    report = run(*asked, "--json").report
    assert report["clipped"] is None
    known = TableSchema.read(schema)
    rule = Instance.from_table(table, known, target="stay", support_size=1).fit_in_units([0])
    assert report["best"]["in_units"] == json.loads(json.dumps(rule.to_dict()))
    text = run(*asked)
    assert text.err == ""
    assert f"stay = {rule.intercept:.6g}" in text.out


def test_clipping_is_of_rows_within_a_feature(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c,y\n0.8,0.8,0.8,1\n0.1,0.1,0.1,0\n")
    path = tmp_path / "i.toml"
    path.write_text(
        "[instance]\nsupport_size = 1\nx_bound = 1.0\ny_bound = 1.0\ncoef_bound = 1.0\n"
        'ridge = 1.0\ngroups = [["a", 1], [2]]\n[data]\nsource = "table"\npath = "t.csv"\n'
        'target = "y"\n'
    )
    clipped = run("solve", path, "--json").report["clipped"]
    assert clipped == {"columns": [0.5, 0.5, 0.0], "target": 0.0}


def test_solvers_agree(run: Run) -> None:
    report = run("compare", "tiny-groups", "--json").report
    assert report["agree"] is True
    assert report["certified"] is True
    assert (report["instances"][0]["p"], report["instances"][0]["n_features"]) == (11, 6)


WRONG = [
    ("x_bound = [1.0", 'x_bound = ["1"', "x_bound must be a number, or a list of numbers"),
    ("x_bound = [1.0, ", "x_bound = [", "x_bound must be a number, or one per feature, 6; got 5"),
    ('always = ["age"]', "always = 10", "always must be a list of columns, or of lists"),
    ('always = ["age"]', 'always = ["ages"]', "always[0]: there is no column 'ages'"),
    ('always = ["age"]', 'always = ["age", "pulse"]', "column 8 (pulse) is in always[1]"),
    ("intercept = true", "intercept = 1", "intercept must be true or false"),
    ('pulse = ["pulse"]', 'pulse = "pulse"', "groups must be a list of lists of columns"),
    ('pulse = ["pulse"]', "pulse = []", "groups[4] has no columns"),
]


@pytest.mark.parametrize(("old", "new", "fragment"), WRONG)
def test_wrong_groups_in_a_file(
    run: Run, repository: Path, tmp_path: Path, old: str, new: str, fragment: str
) -> None:
    stored = repository / "instances"
    text = (stored / "tiny-groups.toml").read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))
    (tmp_path / "tiny-groups.csv").write_text((stored / "tiny-groups.csv").read_text())
    run("release", path, "--epsilon", "1").failed_with(2, str(path), fragment)
    # A dry run does not look at bounds that only an instance has, nor at rows; at these it does.
    run("release", path, "--epsilon", "1", "--dry-run").failed_with(2, fragment)
