"""Moments in a file, and a pass that is interrupted and goes on."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from mipselect.errors import InvalidInput, MipselectError
from mipselect.tables.moments import Counting, Moments
from tests.support.one_table import SCHEMA, numbers, of_table, table

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


def folder_of(tmp_path: Path, source: Any = TABLE) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    for k in range(5):
        parquet.write_table(source.slice(40 * k, 40), folder / f"{k}.parquet")
    return folder


class Interrupted(Exception):
    pass


def interrupted(folder: Path, notes: Path, after: int, **question: Any) -> None:
    def stop(counting: Counting) -> None:
        if counting.pieces == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        Moments.of(folder, SCHEMA, target="stay", checkpoint=notes, progress=stop, **question)


def test_an_interrupted_pass_goes_on(tmp_path: Path) -> None:
    folder, notes = folder_of(tmp_path), tmp_path / "notes"
    wanted = of_table(TABLE)
    interrupted(folder, notes, 2)
    assert notes.stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidInput, match="interrupted after 2 files"):
        Moments.load(notes)
    interrupted(folder, notes, 1)
    read: list[str] = []
    found = Moments.of(
        folder, SCHEMA, target="stay", checkpoint=notes,
        progress=lambda counting: read.append(Path(counting.label).name),
    )  # fmt: skip
    assert read == ["3.parquet", "4.parquet"]
    assert (found.matrix == wanted).all()
    again = Moments.of(folder, SCHEMA, target="stay", checkpoint=notes, progress=read.append)
    assert (again.matrix == wanted).all()
    assert len(read) == 2


def test_a_pass_goes_on_with_the_same_question_and_files_only(tmp_path: Path) -> None:
    folder, notes = folder_of(tmp_path), tmp_path / "notes"
    interrupted(folder, notes, 2)
    for other in ({"folds": 2}, {"never": ["dose"]}):
        with pytest.raises(InvalidInput, match="another schema, target or number of folds"):
            Moments.of(folder, SCHEMA, target="stay", checkpoint=notes, **other)
    before = (folder / "1.parquet").read_bytes()
    parquet.write_table(TABLE.slice(0, 1), folder / "1.parquet")
    with pytest.raises(InvalidInput, match=r"1\.parquet' was changed since"):
        Moments.of(folder, SCHEMA, target="stay", checkpoint=notes)
    (folder / "1.parquet").unlink()
    with pytest.raises(InvalidInput, match="not in the source any more"):
        Moments.of(folder, SCHEMA, target="stay", checkpoint=notes)
    (folder / "1.parquet").write_bytes(before)
    with pytest.raises(InvalidInput, match="was changed"):
        Moments.of(folder, SCHEMA, target="stay", checkpoint=notes)


def test_people_who_were_counted_are_known_when_a_pass_goes_on(tmp_path: Path) -> None:
    import pyarrow as pa

    from mipselect.tables import TableSchema

    fields = [{"name": "who", "type": "string"}, *SCHEMA.content["fields"]]
    schema = TableSchema.of({**SCHEMA.content, "csvw-eo:privacyUnit": "who", "fields": fields})
    who = [str(v) for v in np.random.default_rng(1).integers(70, size=200)]
    folder = folder_of(tmp_path, TABLE.append_column("who", pa.array(who)))
    notes = tmp_path / "notes"

    def stop(counting: Counting) -> None:
        if counting.pieces == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        Moments.of(folder, schema, target="stay", checkpoint=notes, progress=stop)
    found = Moments.of(folder, schema, target="stay", checkpoint=notes)
    first = [who.index(v) for v in dict.fromkeys(who)]
    assert (found.matrix == of_table(TABLE.take(first))).all()
