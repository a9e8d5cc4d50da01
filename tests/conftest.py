"""Shared by all tests: `designs` and `benchmarks` are importable, external data is found or not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent
