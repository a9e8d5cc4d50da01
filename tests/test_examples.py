"""The examples of the gallery run as they are, and show a picture each."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.mark.deep
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    shown: list[object] = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf().axes))
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert shown
    assert all(shown)
    assert capsys.readouterr().out.strip()
    pyplot.close("all")


def test_they_begin_with_a_title() -> None:
    assert SCRIPTS
    for script in SCRIPTS:
        text = script.read_text()
        assert text.startswith('"""\n')
        assert "mipselect_instances" not in text
