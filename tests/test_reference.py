"""Public names have an Examples section, errors aside, and what it says is what happens."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import mipselect
from public_names import MODULES, listed

NAMES = [(module, name) for module in MODULES for name in listed(module)]
OPTIONS = doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda part: part)
def test_examples_run(module: str, name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    found = getattr(import_module(module), name)
    text = inspect.getdoc(found) or ""
    examples = doctest.DocTestParser().get_doctest(text, {}, f"{module}.{name}", None, None)
    assert bool(examples.examples) is ("Examples\n--------" in text)
    assert examples.examples or (isinstance(found, type) and issubclass(found, Exception))
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(examples, out=said.append)
    assert not runner.failures, "".join(said)


def test_sources_are_known() -> None:
    """docs/references.md has each, perhaps with a longer title."""
    text = (Path(__file__).parent.parent / "docs" / "references.md").read_text(encoding="utf-8")
    known = [title.lower() for title in re.findall(r'"([^"]+)", \d{4}, \[', text)]
    for module, name in NAMES:
        text = inspect.getdoc(getattr(import_module(module), name)) or ""
        _, _, after = text.partition("References\n----------\n")
        cited = re.split(r"\n\n\w+\n-+\n", after)[0]
        for title in re.findall(r'"([^"]+)"', cited):
            words = " ".join(title.split()).lower()
            assert any(each.startswith(words) for each in known), f"{title!r} of {name}"


@pytest.mark.parametrize("module", MODULES)
def test_public_modules_list_what_is_there(module: str) -> None:
    found = import_module(module)
    assert len(set(found.__all__)) == len(found.__all__)
    for name in found.__all__:
        assert hasattr(found, name)
    assert f"`{module}`" in (Path(__file__).parent.parent / "docs" / "public.md").read_text()


def test_the_reference_has_a_page_for_every_public_module() -> None:
    index = Path(__file__).parent.parent / "docs" / "reference" / "index.rst"
    pages = re.findall(r"^   (mipselect\S*)$", index.read_text(encoding="utf-8"), re.MULTILINE)
    assert pages == list(MODULES)


def test_every_room_says_what_it_offers() -> None:
    """Packages list names; the others are not public and have nothing but a docstring."""
    for path in sorted(Path(mipselect.__file__).parent.rglob("__init__.py")):
        text = path.read_text()
        assert "__all__" in text or "import" not in text, path


def test_the_version_is_that_of_the_package() -> None:
    assert mipselect.__version__ == import_module("importlib.metadata").version("mipselect")
    assert "__version__" in dir(mipselect)
