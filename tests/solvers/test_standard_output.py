"""Standard output belongs to the caller: no back end writes to it, not even where it begins."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mipselect.backends.protocols import Capability
from tests.support.back_ends import back_ends

MASTER = """
import numpy as np
from mipselect.backends.discovery import solver_by_name

master = solver_by_name({name!r}, threads={threads}).master(4, 2)
master.add_row(np.array([1.0, 2.0, 3.0, 4.0, -1.0]), -np.inf, 0.0)
assert master.run(cutoff=np.inf, time_limit=60.0).chosen is not None
"""


@pytest.mark.deep
@pytest.mark.parametrize("threads", [None, 1])
@pytest.mark.parametrize("name", back_ends(Capability.MILP))
def test_a_master_prints_nothing(name: str, threads: int | None) -> None:
    """In a process of its own: HiGHS greets once a process."""
    script = MASTER.format(name=name, threads=threads)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done
