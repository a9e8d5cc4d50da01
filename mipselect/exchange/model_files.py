"""Files of models in Pyomo: MPS or LP, with a head of comments, written whole or not at all."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.errors import InvalidInput

COMMENTS = {".lp": "\\", ".mps": "*"}
"""Formats by their endings, and how a line of comment begins in them."""


def checked_ending(path: Path) -> str:
    """Return ".lp" or ".mps"; raise `InvalidInput` for a file with another ending."""
    if path.suffix not in COMMENTS:
        raise InvalidInput(f"{path}: must end in .mps or .lp, the formats that are written")
    return path.suffix


def write_model(model: Any, path: Path, head: Sequence[str]) -> None:
    """Write a Pyomo model; the file is for its owner only, for it holds the data or sums of them.

    Parameters
    ----------
    model : ConcreteModel
        Its variable ``z[3]`` becomes the column ``z3``.
    path : Path
        Ends in .mps or .lp.
    head : sequence of str
        Lines of comment in ASCII.

    Raises
    ------
    InvalidInput
    OSError
        If it cannot be written; then nothing was.
    """
    ending = checked_ending(path)
    # The folder can be read by this user only, and what is in it is gone however this ends.
    with tempfile.TemporaryDirectory(prefix="mipselect-") as folder:
        draft = Path(folder) / f"model{ending}"
        model.write(str(draft), io_options={"labeler": column_name})
        with disk.whole_file(path, sensitive=True) as file, draft.open(encoding="ascii") as lines:
            file.writelines(f"{COMMENTS[ending]} {line}\n".encode("ascii") for line in head)
            # SCIP does not read "x ^ 2", which Pyomo writes in LP.
            file.writelines(line.replace(" ^ 2", " ^2").encode("ascii") for line in lines)


def column_name(component: Any) -> str:
    """Return z3 for ``z[3]``: solvers differ in which other signs a name may have."""
    return re.sub(r"\W", "", component.name)
