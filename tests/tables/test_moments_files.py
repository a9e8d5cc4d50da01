"""Moments in a file."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput, MipselectError
from mipselect.tables.moments import Moments
from tests.support.one_table import SCHEMA, numbers, table

TABLE = table(200)


def saved(folder: Path, **options: Any) -> Path:
    path = folder / "m.npz"
    Moments.of(TABLE, SCHEMA, target="stay", **options).save(path)
    return path


def test_a_file_holds_all_of_them_and_is_for_its_owner(tmp_path: Path) -> None:
    path = saved(tmp_path, folds=3, never=["smoker"], ranges={"dose": (0.5, 2.0)})
    assert path.stat().st_mode & 0o077 == 0
    back = Moments.load(path)
    wanted = Moments.of(
        TABLE, SCHEMA, target="stay", folds=3, never=["smoker"], ranges={"dose": (0.5, 2.0)}
    )
    assert (back.folds == wanted.folds).all()
    assert back.columns.to_dict() == wanted.columns.to_dict()
    assert ((back + wanted).folds == 2 * wanted.folds).all()
    assert not back.matrix.flags.writeable
    assert not back.folds.flags.writeable
    with np.load(path, allow_pickle=False) as archive:
        assert "SENSITIVE" in json.loads(str(archive["about"][()]))["sensitive"]
    other = Moments.of(numbers(40), x_bound=[1.0, 0.1, 3.0], y_bound=2.5)
    other.save(path)
    assert (Moments.load(path).matrix == other.matrix).all()
    assert Moments.load(path).columns == other.columns
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_of_moments_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    with np.load(path) as archive:
        about, totals = str(archive["about"][()]), archive["totals"]

    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "unpickled"),)

    def written(text: str, sums: Any) -> None:
        np.savez(path, about=np.array(text), totals=sums)

    asymmetric, beyond, bare = totals.copy(), totals.copy(), json.loads(about)
    asymmetric[0, 1, 2] += 1
    beyond[0, 3, 3] = beyond[0, 0, 0] + 1
    del bare["columns"]["schema"]
    least = totals.copy()
    least[0, 1, 1] = np.iinfo(np.int64).min
    attempts = [
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(whole[: len(whole) // 2]),
        lambda: path.write_bytes(pickle.dumps(Evil())),
        lambda: np.savez(path, about=np.array([Evil()], dtype=object), totals=totals),
        lambda: written("{", totals),
        lambda: written("[" * 100_000, totals),
        lambda: written("{}", totals),
        lambda: written(json.dumps(bare), totals),
        lambda: written(about, totals[:, 1:, 1:]),
        lambda: written(about, totals.astype(np.float64)),
        lambda: written(about, totals[:0]),
        lambda: written(about, -totals),
        lambda: written(about, totals + 1),
        lambda: written(about, asymmetric),
        lambda: written(about, beyond),
        lambda: written(about, least),
        lambda: written(about.replace('"arrays"', '"table"').replace('"table"', '"x"'), totals),
    ]
    for attempt in attempts:
        attempt()
        with pytest.raises(InvalidInput, match=r"m\.npz: "):
            Moments.load(path)
    assert not (tmp_path / "unpickled").exists()
    with pytest.raises(InvalidInput, match="no such file"):
        Moments.load(tmp_path / "absent.npz")
    with pytest.raises(MipselectError, match="could not be written"):
        Moments.of(TABLE, SCHEMA, target="stay").save(tmp_path / "absent" / "m.npz")
