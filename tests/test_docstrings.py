"""Entries that docstrings share are complete in each, and written once."""

from __future__ import annotations

import inspect

import pytest

from mipselect import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.docstrings import described_by, entries_of
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


class Source:
    """Words.

    Attributes
    ----------
    one : int
        Of two lines,
        the second.
    two : str
    other, another : float
        Of both.

    Raises
    ------
    InvalidInput
    """


def test_entries_are_taken_by_their_names() -> None:
    @described_by(Source)
    def shared() -> None:
        """Do it.

        Parameters
        ----------
        two, one
            See `Source`.
        three
            See `Other`.
        """

    entries = "two : str\none : int\n    Of two lines,\n    the second.\n"
    assert f"----------\n{entries}three\n    See `Other`." in (shared.__doc__ or "")


def test_an_entry_that_is_not_there_is_an_error() -> None:
    def shared() -> None:
        """Do it.

        gone
            See `Source`.
        """

    with pytest.raises(KeyError):
        described_by(Source)(shared)
    shared.__doc__ = None
    assert described_by(Source)(shared) is shared
