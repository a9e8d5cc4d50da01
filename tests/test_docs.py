"""Every Python example of the README and the manual runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipselect.cli import main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OF_SPHINX = {"search", "genindex", "modindex", "py-modindex"}
"""Pages that Sphinx writes itself, over whatever is there."""
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
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


def test_no_page_has_the_name_of_one_that_sphinx_writes() -> None:
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.*")}
    assert "certificates" in pages
    assert not pages & OF_SPHINX


def test_the_guide_links_to_every_page_that_it_holds() -> None:
    guide = (DOCS / "guide.md").read_text()
    held = re.findall(
        r"^([a-z-]+)$", "".join(re.findall(r"```{toctree}(.*?)```", guide, re.DOTALL)), re.M
    )
    assert len(held) >= 18
    assert {f"{page}.md" for page in held} == set(re.findall(r"\]\(([^)]+)\)", guide))


def test_the_guide_shows_what_its_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (DOCS / "guide.md").read_text()
    command, printed = re.findall(r"```(?:sh|text)\n(.*?)```", guide, re.DOTALL)
    assert main(command.split()[1:]) == 0
    out = capsys.readouterr().out
    heading, *_ = printed.splitlines()
    assert out.startswith(heading)
    for line in printed.splitlines():
        drawn = line[0] in "┏┃┡│└"
        assert drawn or line in out
