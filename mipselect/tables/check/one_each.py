"""`kind_counts`: kinds of values with one row for each person, as a private release counts them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mipselect.tables import values
from mipselect.tables.check.kinds import KINDS, FieldRule, columns_read
from mipselect.tables.fields import Field
from mipselect.tables.parts import ROWS, Part
from mipselect.tables.people import each_person

LAST = "last"


def kind_counts(
    parts: Sequence[Part], rules: Sequence[FieldRule], unit: Field | None, unit_rule: str
) -> tuple[int, NDArray[np.int64]]:
    """Count rows, or people, and how many of them have a value of each kind; sensitive.

    Parameters
    ----------
    parts : sequence of Part
        Whose headers are looked at.
    rules : sequence of FieldRule
    unit : Field or None
        The field that says whose row it is.
    unit_rule : {"first", "last", "mean"}
        Among several rows of one person the last one counts under "last", else the first.

    Returns
    -------
    rows : int
        Rows without an identity are those of one person.
    counts : int array, shape (number of rules, 6)
        Every row of it adds up to `rows`. Where a person is changed, with all rows, two numbers
        of each move by one.
    """
    names = columns_read(rules, unit)
    counts = np.zeros((len(rules), len(KINDS)), np.int64)
    people: dict[bytes | None, bytes] = {}
    rows = 0
    for part in parts:
        for batch in part.read(names):
            kinds = np.column_stack(
                [rule.kinds_of(batch.column(k)) for k, rule in enumerate(rules)]
            )
            if unit is None:
                rows += len(kinds)
                counts += _counted(kinds)
            else:
                identities = values.identities(batch.column(len(rules)), unit)
                for who, at, _ in each_person(identities, last=unit_rule == LAST):
                    if unit_rule == LAST or who not in people:
                        people[who] = kinds[at].tobytes()
    stored = list(people.values())
    for start in range(0, len(stored), ROWS):
        some = np.frombuffer(b"".join(stored[start : start + ROWS]), np.int8)
        counts += _counted(some.reshape(-1, len(rules)))
    return rows + len(people), counts


def _counted(kinds: NDArray[np.int8]) -> NDArray[np.int64]:
    """Count values of each kind, for every column of an array of kinds."""
    return np.stack([(kinds == k).sum(axis=0) for k in range(len(KINDS))], axis=1)
