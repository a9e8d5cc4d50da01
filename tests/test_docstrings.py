"""Entries that docstrings share are complete in each, and written once."""

from __future__ import annotations

import inspect

import pytest

from mipselect import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.parameters import completed_by, entries_of
from mipselect.search.certificate import Certificate
from mipselect.search.options import SearchOptions


@pytest.mark.parametrize(
    ("shared", "source", "last"),
    [
        (top_supports, SearchOptions, "progress"),
        (mistake_levels, SearchOptions, "progress"),
        (SupportPool, Certificate, "relations"),
        (MistakeLevels, Certificate, "relations"),
    ],
)
def test_every_parameter_and_field_has_its_entry(shared, source, last) -> None:
    text = inspect.getdoc(shared)
    for name in inspect.signature(shared).parameters:
        assert f"\n{name} : " in text
    assert f"\n{entries_of(source)[last]}\n\n" in text


class Complete:
    """Words.

    Parameters
    ----------
    one : int
        Of two lines,
        the second.
    two : str
    three : float

    Raises
    ------
    InvalidInput
        If it is wrong.
    """


def test_what_classes_share_is_completed_in_the_order_of_the_signature() -> None:
    @completed_by(Complete)
    class Silent:
        """Do it.

        Notes
        -----
        Long.
        """

        def __init__(self, three: float, one: int) -> None: ...

    @completed_by(Silent)
    class Talking:
        """Do more.

        Parameters
        ----------
        two : int
            Another.

        Raises
        ------
        OSError
        """

        def __init__(self, one: int, two: int) -> None: ...

    shared = "one : int\n    Of two lines,\n    the second.\n"
    assert Silent.__doc__ == (
        f"Do it.\n\nParameters\n----------\nthree : float\n{shared}\n"
        "Raises\n------\nInvalidInput\n    If it is wrong.\n\nNotes\n-----\nLong."
    )
    assert Talking.__doc__ == (
        f"Do more.\n\nParameters\n----------\n{shared}two : int\n    Another.\n\n"
        "Raises\n------\nOSError"
    )


def test_no_docstring_is_completed_where_there_is_none() -> None:
    class Silent:
        pass

    assert completed_by(Complete)(Silent).__doc__ is None
