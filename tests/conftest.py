"""Shared by all tests: `designs` and `benchmarks` are importable, skips are added up at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from wants import pytest_terminal_summary

__all__ = ["pytest_terminal_summary", "repository"]

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent
