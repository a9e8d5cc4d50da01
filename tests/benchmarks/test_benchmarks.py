"""Benchmarks on the runner: cells, settings, what is kept, and what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import stored
from benchmarks.__main__ import main
from benchmarks.declared import Record, benchmark, benchmarks
from benchmarks.stored import StoredRun
from mipselect.errors import InvalidInput

QUICK = ["exact-draws-sizes", "--quick", "n=1000", "draws=4"]


@benchmark({"n": (1, 2), "shape": ((3, 4), (5, 6))}, quick={"n": (1,), "limit": 0.5}, seeds="none")
def product(n: int, shape: tuple[int, int], limit: float = 2.0, name: str = "") -> list[Record]:
    """Multiply."""
    return [{"n": n, "product": n * shape[0] * shape[1], "limit": limit, "name": name}]


def records(given: dict[str, str], *, quick: bool = False) -> list[Record]:
    cells = product.cells(given, quick=quick, data=None)
    return [record for cell in cells for record in product.measure(**dict(cell.settings))]


def test_cells_are_the_combinations_of_what_is_declared_or_given() -> None:
    assert [one["product"] for one in records({})] == [12, 30, 24, 60]
    assert [(one["product"], one["limit"]) for one in records({}, quick=True)] == [
        (12, 0.5),
        (30, 0.5),
    ]
    assert records({"n": "7", "shape": "1", "limit": "3", "name": "x"}) == [
        {"n": 7, "product": 210, "limit": 3.0, "name": "x"}
    ]
    with pytest.raises(InvalidInput, match="no setting 'm'; it has n, shape, limit, name"):
        records({"m": "1"})
    with pytest.raises(InvalidInput, match="'x' is no int"):
        records({"n": "x"})


@pytest.mark.deep
def test_every_benchmark_says_what_it_is_and_has_distinct_cells() -> None:
    names = [one.name for one in benchmarks()]
    assert len(set(names)) == len(names)
    for one in benchmarks():
        assert (one.measure.__doc__ or "").strip()
        for quick in (False, True):
            cells = one.cells({}, quick=quick, data=Path("folder"))
            assert len({repr(cell) for cell in cells}) == len(cells), one.name


@pytest.mark.deep
def test_a_benchmark_is_run_kept_and_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    given = [*QUICK, "epsilon=2,4", "--output", str(tmp_path / "kept"), "--json"]
    assert main([*given, "--store", "sizes"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(one["epsilon"], one["n"]) for one in printed] == [(2.0, 1000), (4.0, 1000)]
    run = StoredRun.read(tmp_path / "sizes.json")
    assert [set(one) for one in run.records] == [set(one) for one in printed]
    assert (
        run.command == "python -m benchmarks exact-draws-sizes n=1000 draws=4 epsilon=2,4 --quick"
    )
    assert run.seed == "1 to 10, of data and draws"
    # It is measured anew the next time.
    assert list((tmp_path / "kept").iterdir()) == []


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["envelope", "m=1", "--output", str(tmp_path)]) == 1
    assert "has no setting 'm'" in capsys.readouterr().err
    assert main(["gain-kept", "--output", str(tmp_path)]) == 1
    assert "needs --data FOLDER" in capsys.readouterr().err
    for given in (["nothing"], ["envelope", "quick"], ["command", "--store", "x"]):
        with pytest.raises(SystemExit):
            main(given)
    assert main(["--list"]) == 0
    assert "envelope " in capsys.readouterr().out
