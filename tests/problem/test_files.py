"""Instance files and recipes: the stored ones are right, and every mistake in one is named."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from mipselect.datasets import correlated_gaussian, diabetes, logistic_gaussian
from mipselect.errors import InvalidInput
from mipselect.problem.descriptions import expected
from mipselect.problem.stored import load_instance, load_problem, public_problem

ENUMERABLE = (
    "diabetes",
    "diabetes-huber",
    "tiny-groups",
    "tiny-active-norm",
    "tiny-duplicates",
    "tiny-plain",
)

GOOD = """
[instance]
support_size = 1
x_bound = 1.0
y_bound = 2
coef_bound = 1.5
ridge = 0.1
[data]
source = "table"
path = "data.csv"
target = "y"
[expected]
support = [0]
value = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("a,b,y\n0.5,-3,1\n-0.25,0.5,-9\n")
    (tmp_path / "good.toml").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize("name", ENUMERABLE)
def test_expected_values_are_those_of_enumeration(name: str) -> None:
    instance, wanted = load_instance(name), expected(name)
    assert wanted is not None
    s, p = instance.support_size, instance.n_features
    supports = np.array(list(itertools.combinations(range(p), s)))
    values = np.array([instance.objective(support) for support in supports])
    assert wanted.value == pytest.approx(values.min(), rel=1e-9)
    assert instance.objective(wanted.support) == pytest.approx(wanted.value, rel=1e-9)
    levels = (~np.isin(supports, wanted.support)).sum(axis=1)
    best = [values[levels == level].min() for level in range(min(s, p - s) + 1)]
    assert wanted.level_values == pytest.approx(best, rel=1e-9)


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    instance = load_instance("../good.toml")
    assert instance.feature_names == ("a", "b")
    np.testing.assert_array_equal(instance.X, [[0.5, -1.0], [-0.25, 0.5]])
    np.testing.assert_array_equal(instance.y, [1.0, -2.0])


def test_a_stored_name_means_the_stored_instance(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "diabetes.toml").write_text(GOOD)
    monkeypatch.chdir(folder)
    assert load_instance("diabetes").n == 442
    assert load_instance("diabetes.toml").n == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[expected]", "[expectd]", "unknown key 'expectd'.*did you mean 'expected'"),
        ("[instance]", "[[instance]]", r"instance must be a section"),
        ("ridge = 0.1", "rigde = 0.1", "unknown key 'rigde'; known: support_size.*'ridge'"),
        ("ridge = 0.1", "", r"\[instance\] lacks ridge"),
        ("ridge = 0.1", 'ridge = "0.1"', "ridge must be a finite number ≥ 0, got '0.1'"),
        ("ridge = 0.1", "ridge = -0.1", "ridge must be a finite number ≥ 0, got -0.1"),
        ("ridge = 0.1", 'ridge = 0.1\nloss = "cubic"', "loss 'cubic' is unknown; known: squared"),
        ("support_size = 1", "support_size = 3", r"support_size must be an integer in 1..2, got 3"),
        (
            "support_size = 1",
            "support_size = 1.0",
            "support_size must be an integer in 1..2, got 1.0",
        ),
        ('source = "table"', "", "has no source; known: table, npz, sklearn"),
        ('source = "table"', 'source = "tabel"', "source 'tabel' is unknown; known: table"),
        ('source = "table"', 'source = "npz"', r"\[data\] has the unknown key 'target'"),
        (
            '"table"\npath = "data.csv"\ntarget = "y"',
            '"sklearn"\nname = "iris"',
            "must be .diabetes",
        ),
        ('target = "y"', "", r"\[data\] lacks target"),
        ('target = "y"', 'target = "z"', "there is no column z; columns: a, b, y"),
        ('target = "y"', 'target = "y"\nfeatures = "a"', "features must be a list of texts"),
        ('path = "data.csv"', 'path = "absent.csv"', "absent.csv: no such file"),
        ("[data]", "[data", "not valid TOML"),
        ("support = [0]", "support = [1, 0]", "support must be 1 sorted indices of features"),
        ("support = [0]", "support = [true]", "support must be a list of indices of features"),
        ("value = 0.5", 'value = "low"', "value must be a number"),
        ("value = 0.5", "", r"\[expected\] lacks value"),
        ("value = 0.5", "value = 0.5\nlevel_values = 3", "level_values must be a list of numbers"),
        ("value = 0.5", "value = 0.5\nlevel_values = [nan]", "numbers, all finite, got"),
        ("ridge = 0.1", "ridge = 0.1\ngroups = 0.5", "groups.0. must hold column indices or names"),
        (
            "ridge = 0.1",
            "ridge = 0.1\nalways = [[0, [1]]]",
            "always.0. must hold column indices or names",
        ),
        (
            "x_bound = 1.0",
            "x_bound = [true]",
            "x_bound must be one number, or 2, one for each feature",
        ),
    ],
)
def test_mistakes_in_a_file_are_named(folder: Path, old: str, new: str, message: str) -> None:
    path = folder / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InvalidInput, match=message) as caught:
        _ = load_instance(path), expected(path)
    assert str(path) in str(caught.value)


def test_a_problem_has_the_data_before_clipping(folder: Path) -> None:
    problem = load_problem(folder / "good.toml")
    np.testing.assert_array_equal(problem.data.X, [[0.5, -3.0], [-0.25, 0.5]])
    np.testing.assert_array_equal(problem.data.y, [1.0, -9.0])
    assert "array" not in repr(problem)
    instance = problem.instance()
    np.testing.assert_array_equal(instance.X, [[0.5, -1.0], [-0.25, 0.5]])
    assert (instance.feature_names, instance.ridge) == (("a", "b"), 0.1)


def test_a_recipe_is_drawn_from_its_seed() -> None:
    stored = load_problem("paper-p100")
    assert stored.data.X.shape == (4000, 100)
    X, y = correlated_gaussian(4000, 100, rho=0.1, snr=5.0, support_size=5, seed=1)
    np.testing.assert_array_equal(stored.data.X, X)
    np.testing.assert_array_equal(stored.data.y, y)


def test_expected_is_optional(folder: Path) -> None:
    path = folder / "plain.toml"
    path.write_text(GOOD[: GOOD.index("[expected]")])
    assert expected(path) is None
    found = expected(folder / "good.toml")
    assert found is not None
    assert (found.support, found.value, found.level_values) == ((0,), 0.5, None)


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"stored: .*diabetes, .*; did you mean 'diabetes'\?"):
        load_instance("diabetis")
    with pytest.raises(InvalidInput, match="no such file"):
        load_instance(tmp_path / "absent.toml")
    with pytest.raises(InvalidInput, match="neither a stored instance nor a"):
        load_instance(tmp_path / "table.csv")


def npz(folder: Path, content: bytes | None = None, **arrays: object) -> Path:
    if content is None:
        np.savez(folder / "data.npz", **arrays)
    else:
        (folder / "data.npz").write_bytes(content)
    path = folder / "npz.toml"
    path.write_text(GOOD[: GOOD.index("[data]")] + '[data]\nsource = "npz"\npath = "data.npz"\n')
    return path


def test_npz_keeps_single_precision(tmp_path: Path) -> None:
    X = np.array([[0.5, 1.0], [2.0, 0.25]], dtype=np.float32)
    instance = load_instance(npz(tmp_path, X=X, y=np.array([1, -1], dtype=np.int8)))
    assert instance.X.dtype == np.float32
    np.testing.assert_array_equal(instance.y, [1.0, -1.0])


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was loaded",))


def test_bad_npz_files_are_named(tmp_path: Path) -> None:
    X, y = np.eye(2), np.ones(2)
    for path_of, message in [
        (lambda: npz(tmp_path, X=X, y=np.ones(3)), r"one value per row of X, \(2,\); got \(3,\)"),
        (lambda: npz(tmp_path, X=X), "with the arrays X and y"),
        (lambda: npz(tmp_path, X=np.ones(2), y=y), "non-empty table"),
        (lambda: npz(tmp_path, X=X, y=np.array(["a", "b"])), "y must hold real numbers"),
        (
            lambda: npz(tmp_path, X=np.array([[1, np.nan]]), y=y[:1]),
            r"\(sensitive\): X must be finite: row 0, column 1 ",
        ),
        (lambda: npz(tmp_path, X=np.array([[Bomb()]]), y=y[:1]), "cannot be read as .npz"),
        (lambda: npz(tmp_path, b"not an archive"), "cannot be read as .npz"),
        (lambda: npz(tmp_path, b""), "cannot be read as .npz"),
    ]:
        path = path_of()
        with pytest.raises(InvalidInput, match=message):
            load_instance(path)
    (tmp_path / "data.npz").unlink()
    with pytest.raises(InvalidInput, match="no such file"):
        load_instance(tmp_path / "npz.toml")


RECIPE = {"rho": 0.4, "snr": 5.0, "support_size": 2, "seed": 11}


def test_signal_to_noise_ratio_is_exact() -> None:
    X, y = correlated_gaussian(50, 6, **RECIPE)
    signal = X[:, [1, 3]].sum(axis=1) / math.sqrt(2)
    noise = y - signal
    assert signal @ signal / (noise @ noise) == pytest.approx(5.0, rel=1e-12)


def test_draws_come_in_the_stated_order() -> None:
    X, y = correlated_gaussian(7, 5, **RECIPE)
    generator = np.random.default_rng(11)
    columns = [generator.standard_normal(7)]
    for _ in range(4):
        fresh = generator.standard_normal(7)
        columns.append(0.4 * columns[-1] + math.sqrt(1 - 0.4**2) * fresh)
    noise = generator.standard_normal(7)
    np.testing.assert_allclose(X, np.column_stack(columns), rtol=1e-13)
    rest = y - (columns[1] + columns[3]) / math.sqrt(2)
    np.testing.assert_allclose(rest / np.linalg.norm(rest), noise / np.linalg.norm(noise))


def test_logistic_labels_follow_the_latent_response() -> None:
    X, y = logistic_gaussian(20_000, 4, **RECIPE)
    plain, latent = correlated_gaussian(20_000, 4, **RECIPE)
    np.testing.assert_array_equal(X, plain)
    assert set(y) == {-1.0, 1.0}
    for low, high in ((-2.0, -1.0), (-0.5, 0.5), (1.0, 2.0)):
        rows = (latent > low) & (latent < high)
        wanted = (1.0 / (1.0 + np.exp(-latent[rows]))).mean()
        assert np.mean(y[rows] == 1.0) == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be an integer ≥ 1, got 0"),
        ({"p": 2.0}, "p must be an integer ≥ 1, got 2.0"),
        ({"p": 3}, "at least 2 · support_size = 4, got 3"),
        ({"support_size": 0}, "support_size must be an integer ≥ 1"),
        ({"seed": -1}, "seed must be an integer ≥ 0, got -1"),
        ({"rho": 1.0}, "rho must be a number strictly between -1 and 1"),
        ({"rho": float("nan")}, "rho must be a number strictly between -1 and 1"),
        ({"rho": "0.1"}, "rho must be a number"),
        ({"snr": 0.0}, "snr must be a finite number > 0"),
        ({"snr": float("inf")}, "snr must be a finite number > 0"),
    ],
)
def test_bad_recipes_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace("(", r"\(")):
        correlated_gaussian(**{"n": 10, "p": 6, **RECIPE, **change})


def test_diabetes_is_scaled_as_the_instance_assumes() -> None:
    X, y = diabetes()
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1.0)
    assert (y.min(), y.max()) == (25.0 - 150.0, 346.0 - 150.0)
    problem, n = public_problem("diabetes")
    assert (n, problem.p) == X.shape
