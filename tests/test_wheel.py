"""The built wheel works away from the repository: packages, stored instances, entry points."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = ("mipselect", "papers", "solvers", "instances", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def unpacked(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        path = repository / name
        if path.is_dir():
            shutil.copytree(
                path, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(path, source / name)
    run = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*run, "wheel", "--no-deps", "--wheel-dir", folder, source], check=True, timeout=600
    )
    (wheel,) = folder.glob("*.whl")
    target = folder / "site"
    subprocess.run([*run, "install", "--no-deps", "--target", target, wheel], check=True)
    return target


def run_in(target: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(target)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=target.parent,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout


@pytest.mark.deep
def test_the_wheel_solves_and_releases_on_its_own(unpacked: Path) -> None:
    where = run_in(unpacked, "-c", "import mipselect; print(mipselect.__file__)")
    assert Path(where.strip()).is_relative_to(unpacked)
    assert (unpacked / "mipselect" / "py.typed").exists()
    solved = json.loads(
        run_in(unpacked, "-m", "mipselect", "solve", "diabetes", "--solver", "highs", "--json")
    )
    assert solved["sensitive"] is True
    released = json.loads(
        run_in(unpacked, "-m", "mipselect", "release", "tiny-plain", "--epsilon", "1", "--json")
    )
    assert released["private"] is True
    names = run_in(unpacked, "-m", "mipselect", "instances")
    assert "paper-p100" in names
    made = run_in(
        *(unpacked, "-m", "mipselect", "reproduce", "kendall-copies", "--quick", "--json"),
    )
    assert json.loads(made)["experiments"][0]["trials"] == 2


def test_the_wheel_has_every_file_of_the_packages(unpacked: Path, repository: Path) -> None:
    folders = {
        "mipselect": "mipselect",
        "papers": "mipselect_papers",
        "solvers": "mipselect_solvers",
    }
    for folder, package in folders.items():
        own = {
            path.relative_to(repository / folder)
            for path in (repository / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        there = {
            path.relative_to(unpacked / package)
            for path in (unpacked / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert own == there
