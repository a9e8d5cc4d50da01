"""Every Python example of the README and the manual runs as printed."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OF_TESTS = ROOT / "tests" / "README.md"
PRODUCT = ROOT / "mipselect"
ARCHITECTURE, CONTRIBUTING = DOCS / "architecture.md", ROOT / "CONTRIBUTING.md"
TO_BE_ADDED = {"mipselect/losses/tilted.py"}
"""Files that a page names for a reader to add."""
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), OF_TESTS]
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", EXAMPLES)
def test_example_runs(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "example", "exec", dont_inherit=True), {"__name__": "example"})
    if "print(" in block:
        assert capsys.readouterr().out.strip()


def test_there_are_examples_and_links_lead_somewhere() -> None:
    assert len(EXAMPLES) >= 3
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_table_of_tests_names_every_folder() -> None:
    named = re.findall(r"^\| \[(\w+)\]", OF_TESTS.read_text(), re.MULTILINE)
    assert set(named) == {path.parent.name for path in OF_TESTS.parent.glob("*/test_*.py")}
    assert len(set(named)) == len(named)


def rows_of(text: str) -> list[list[str]]:
    """The cells of all tables, row by row, without headings."""
    found = re.findall(r"^\| (?!---)(.*) \|$(?!\n\| ---)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in found]


def paths_in(text: str) -> list[str]:
    """What looks like a path in backticks."""
    return [name for name in re.findall(r"`([\w./]+)`", text) if "/" in name]


def place_of(path: str) -> Path:
    """A path of a page: in the product, or else in the repository."""
    return PRODUCT / path if (PRODUCT / path).exists() else ROOT / path


def names_in(place: Path) -> Iterator[str]:
    """Everything that a module has at its top, and the members of its classes: Class.member."""
    source = place / "__init__.py" if place.is_dir() else place
    if source.suffix != ".py":
        return
    for node in ast.parse(source.read_text()).body:
        yield from _bound_by(node)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                yield from (f"{node.name}.{name}" for name in _bound_by(member))


def _bound_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef() | ast.FunctionDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.ImportFrom():
            return [alias.name for alias in node.names]
        case _:
            return []


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = set(paths_in(prose))
    assert len(named) >= 12
    assert {path for path in named if not place_of(path).exists()} <= TO_BE_ADDED


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=lambda page: page.stem)
def test_functions_beside_a_file_are_in_it(page: Path) -> None:
    checked = 0
    for row in rows_of(page.read_text()):
        *before, answer = row
        places = [place_of(path) for path in paths_in(before[-1])]
        if not places or not all(place.exists() for place in places):
            continue
        known = {name for place in places for name in names_in(place)}
        for name in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`", answer):
            assert name in known, f"{name} is not in {before[-1]}"
            checked += 1
    assert checked >= 10


def test_the_table_of_packages_is_the_contract_of_their_imports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (
        [layer.split(" | ") for layer in contract["layers"]]
        for contract in contracts["contracts"]
        if contract.get("containers") == ["mipselect"]
    )
    stated = [
        (int(row[0]), row[1].strip("`"))
        for row in rows_of(ARCHITECTURE.read_text())
        if row[0].isdigit()
    ]
    assert stated == [(len(layers) - k, name) for k, layer in enumerate(layers) for name in layer]
    here = {path.stem for path in PRODUCT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {name for _, name in stated} == here - {"__init__", "__main__", "__pycache__"}


def test_the_glossary_has_one_sentence_for_each_word() -> None:
    page = Path(__file__).parents[1] / "docs" / "glossary.md"
    rows = re.findall(r"^\| (\*.+?) \| (.+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = [word for word, _ in rows]
    assert len(rows) >= 40
    assert len(set(words)) == len(words)
    for _, sentence in rows:
        assert sentence.endswith(".")
        assert ". " not in sentence


SCRIPTS = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.mark.deep
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs(
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


MANUAL = Path(__file__).parent.parent / "docs"
FIGURES = sorted((MANUAL / "figures").glob("*.svg"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def words_of(path: Path) -> list[str]:
    """All text of a figure, in its order."""
    return re.findall(r"<text[^>]*>([^<]*)", path.read_text(encoding="utf-8"))


def shape_of(path: Path) -> list[float]:
    """All coordinates of paths, rounded: another version of matplotlib writes other digits."""
    drawn = re.findall(r' d="([^"]*)"', path.read_text(encoding="utf-8"))
    return [round(float(each)) for path in drawn for each in NUMBER.findall(path)]


def test_the_figure_of_a_table_has_its_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stored, drawn = (folder / "found-by-epsilon.svg" for folder in (MANUAL / "figures", tmp_path))
    run_path(str(MANUAL / "figures" / "draw.py"))["found_by_epsilon"](drawn)
    assert words_of(drawn) == words_of(stored)
    assert shape_of(drawn) == pytest.approx(shape_of(stored), abs=1)


def test_figures_have_words_and_no_background() -> None:
    for path in FIGURES:
        assert len(words_of(path)) >= 5
        first = path.read_text(encoding="utf-8").split('<g id="axes_1">')[0]
        assert "fill: #ffffff" not in first
        assert "fill: none" in first or "opacity: 0" in first
