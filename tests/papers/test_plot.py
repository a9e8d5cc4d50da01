"""`mipselect plot`: what stands in a figure, its marks, and that it is the same every time."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mipselect_papers.runner import FORMAT
from tests.support.commandline import Run


def row(instance: str = "drawn", *, exact: bool = True, **changes: Any) -> dict[str, Any]:
    return {
        "status": "done", "instance": instance, "n": 100, "data_seed": 1,
        "fingerprint": "f", "p": 6, "support_size": 2, "loss": "squared", "selector": "top-r",
        "options": "", "epsilon": 1.0, "base_seed": 0, "sensitive": False, "trial": 0,
        "relation": "replace-one", "condition_met": None, "exact": exact, "f1": 0.5,
        "loss_gap": 0.5, "gap_in_sensitivities": 8.0, "seconds_fit": 0.25, "seconds_draw": 0.1,
        **changes,
    }  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


@pytest.fixture
def figure(tmp_path: Path) -> Path:
    pytest.importorskip("matplotlib")
    return tmp_path / "figure.svg"


def line(reading: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT, "status": "done", "experiment": "bench", "recipe": "", "repeat": 1,
        "base_seed": 0, "data_seed": 0, "readings": [reading],
    }  # fmt: skip


def write(file: Path, *rows: dict[str, Any]) -> None:
    file.write_text("".join(json.dumps(line(each)) + "\n" for each in rows))


def texts(svg: Path) -> list[str]:
    content = svg.read_text()
    assert content.startswith("<?xml")
    return re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", content)


def test_panels_labels_and_legend(run: Run, file: Path, figure: Path) -> None:
    rows = [row(epsilon=e, selector=s) for s in ("sis", "top-r") for e in (0.5, 2.0)]
    write(file, *rows, row("other", exact=False))
    outcome = run("plot", file, "--output", figure)
    assert (outcome.code, outcome.err) == (0, "")
    assert "figure.svg: Exact recovery of the optimum, 2 panels" in outcome.out
    assert "SENSITIVE" not in outcome.out
    words = texts(figure)
    for wanted in (
        "Exact recovery of the optimum",
        "drawn: n = 100, p = 6, s = 2",
        "other: n = 100, p = 6, s = 2",
        "ε of one draw, under replace-one",
        "fraction of trials",
        "Experiment with seeded draws, not private.",
        "0.5",
    ):
        assert wanted in words, wanted
    assert words.index("top-r") < words.index("sis")
    assert not any("SENSITIVE" in word for word in words)
    assert stat.S_IMODE(figure.stat().st_mode) != 0o600


def test_one_sensitive_row_marks_the_figure(run: Run, file: Path, figure: Path) -> None:
    write(file, row(), row(trial=1, sensitive=True))
    assert "SENSITIVE" in run("plot", file, "--output", figure).out
    words = texts(figure)
    assert any(word.startswith("SENSITIVE: computed from the data") for word in words)
    assert "Experiment with seeded draws, not private." in words
    assert stat.S_IMODE(figure.stat().st_mode) == 0o600
    assert run("plot", file, "--output", figure, "--json", "--replace").report["sensitive"] is True


def test_a_condition_that_is_not_met_is_said(run: Run, file: Path, figure: Path) -> None:
    write(file, row(selector="mistakes", condition_met=False), row(condition_met=True, trial=1))
    run("plot", file, "--output", figure)
    words = " ".join(texts(figure))
    assert "The condition of mistakes is not met on drawn: ε is not promised there." in words
    assert "condition of top-r" not in words


def test_points_are_means_with_standard_errors(run: Run, file: Path, figure: Path) -> None:
    rows = [row(epsilon=2.0, trial=t, exact=t < 3, f1=t / 4) for t in range(4)]
    rows += [row(epsilon=1.0, trial=0), {**rows[0], "exact": False}, rows[0]]
    write(file, *rows)
    for measure, means, label in (
        ("exact", [1.0, 0.75], "fraction of trials"),
        ("f1", [0.5, 0.375], "mean F1"),
        ("gap", [8.0, 8.0], "mean gap, in sensitivities Δ"),
        ("seconds", [0.25, 0.25], "mean time, in seconds"),
    ):
        report = run("plot", file, "--output", figure, "--y", measure, "--json", "--replace").report
        (panel,) = report["panels"]
        (line,) = panel["lines"]
        assert (line["name"], line["xs"], line["means"]) == ("top-r", [1.0, 2.0], means)
        assert line["errors"][0] is None
        assert label in texts(figure)
        if measure == "exact":
            assert line["errors"][1] == pytest.approx(0.25)


def test_n_is_across_where_there_are_several(run: Run, file: Path, figure: Path) -> None:
    rows = [
        row(n=n, epsilon=e, data_seed=k) for n in (50, 1000) for e in (1.0, 2.0) for k in (1, 2)
    ]
    write(file, *rows)
    report = run("plot", file, "--output", figure, "--json").report
    assert report["x"] == "n"
    titles = ["drawn: ε = 1, p = 6, s = 2", "drawn: ε = 2, p = 6, s = 2"]
    assert [panel["title"] for panel in report["panels"]] == titles
    assert report["panels"][0]["lines"][0]["xs"] == [50, 1000]
    assert report["panels"][0]["lines"][0]["errors"] == [0.0, 0.0]
    assert {"n, rows of data", "1,000"} <= set(texts(figure))
    one = run("plot", file, "--output", figure, "--epsilon", "2", "--json", "--replace").report
    assert [panel["title"] for panel in one["panels"]] == titles[1:]
    other = run("plot", file, "--output", figure, "--x", "epsilon", "--json", "--replace").report
    assert [panel["title"] for panel in other["panels"]] == [
        "drawn: n = 50, p = 6, s = 2",
        "drawn: n = 1,000, p = 6, s = 2",
    ]


def test_figures_are_the_same_every_time_whatever_the_style(
    run: Run, file: Path, figure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib as mpl

    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    write(file, row(), row("other"), row("third"), row("fourth", selector="unknown"))
    for suffix, magic in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        target = figure.with_suffix(suffix)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
        assert run("plot", file, "--output", target).code == 0
        first = target.read_bytes()
        assert first.startswith(magic)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
        monkeypatch.setitem(mpl.rcParams, "lines.linewidth", 7.0)
        run("plot", file, "--output", target)
        assert target.read_bytes() == first
    assert "matplotlib.pyplot" not in sys.modules


def test_rows_of_a_run_and_its_half_written_line(run: Run, file: Path, figure: Path) -> None:
    arguments = ("--selectors", "top-r,uniform", "--epsilon", "1,9", "--trials", "2")
    run("bench", "tiny-plain", "diabetes", *arguments, "--output", file)
    with file.open("a") as appended:
        appended.write(f'{{"format": "{FORMAT}", "stat')
    content = file.read_bytes()
    outcome = run("plot", file, "--output", figure, "--instance", "diabetes", "--json")
    assert outcome.err == f"mipselect: the last line of {file} is half-written and is left out\n"
    assert [panel["title"] for panel in outcome.report["panels"]] == [
        "diabetes: n = 442, p = 10, s = 3"
    ]
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--output", "figure.jpg"), "--output must end in .svg, .png, .pdf, got 'figure.jpg'"),
        (("--output", "absent/figure.svg"), "the folder absent does not exist"),
        (("--output", "f.svg", "--x", "p"), "--x"),
        (("--output", "f.svg", "--y", "loss"), "--y"),
        (("--output", "f.svg", "--instance", "other"), "--instance other: not in"),
        (("--output", "f.svg", "--epsilon", "1"), "--epsilon applies with n across only: --x n"),
        (("--output", "f.svg", "--x", "n", "--epsilon", "3"), "--epsilon 3.0: not in"),
        ((), "Missing option '--output'"),
    ],
)
def test_bad_usage_draws_nothing(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(file.parent)
    write(file, row())
    run("plot", file, *arguments, "--json").failed_with(2, message)
    assert list(file.parent.iterdir()) == [file]


def test_files_without_trials(run: Run, file: Path, figure: Path) -> None:
    run("plot", file, "--output", figure).failed_with(2, "rows.jsonl: no such file")
    run("plot", file.parent, "--output", figure).failed_with(
        2, f"{file.parent}: cannot be read: it is a folder"
    )
    file.write_text("")
    run("plot", file, "--output", figure).failed_with(2, "there are no trials to draw")
    file.write_text("a,b\n")
    run("plot", file, "--output", figure).failed_with(2, "line 1", "it is not JSON")
    assert not figure.exists()


def test_without_matplotlib_the_remedy_is_named(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    write(file, row())
    run("plot", file, "--output", file.with_suffix(".svg")).failed_with(
        2, "matplotlib is missing; install it with: pip install 'mipselect[plot]'"
    )
