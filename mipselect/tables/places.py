"""Places of the files of a table, so that none of them counts twice under two names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from mipselect.disk import regular_file
from mipselect.errors import InvalidInput
from mipselect.validation import printable


@dataclass(frozen=True)
class Place:
    """A file: one of its names, and what it has in common with all others of them."""

    name: str
    identity: Hashable = field(repr=False)


def place_here(path: str, name: str | None = None) -> Place:
    """Identify a file of this machine by device and inode, which all links to it share.

    Parameters
    ----------
    path : str
    name : str, optional
        How it is called in a message, if not by its path.

    Raises
    ------
    InvalidInput
        If it is no regular file.
    """
    found = regular_file(Path(path)).stat()
    return Place(name or path, (found.st_dev, found.st_ino))


def place_elsewhere(url: str, path: str, name: str) -> Place:
    """Identify a file at a path of the file system that a URL names."""
    parts = urlsplit(url)
    # The query may name another server.
    return Place(name, (parts.scheme, parts.netloc, parts.query, path))


def places_of_dataset(source: Any) -> tuple[Place, ...]:
    """List the files of a `pyarrow.dataset.Dataset`, also of one that is made of several."""
    inside = (
        place for child in getattr(source, "children", ()) for place in places_of_dataset(child)
    )
    files = (_of_system(source.filesystem, path) for path in getattr(source, "files", ()))
    return (*inside, *files)


def _of_system(system: Any, path: str) -> Place:
    if isinstance(system, fs.SubTreeFileSystem):
        return _of_system(system.base_fs, system.base_path + path)
    if isinstance(system, fs.LocalFileSystem):
        return place_here(path)
    return Place(path, (system.type_name, path))


class Once:
    """The files that were reached so far; none may be reached again."""

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}

    def reach(self, places: Iterable[Place]) -> None:
        """Remember these files; raise `InvalidInput`, with both names, for one reached before."""
        for place in places:
            before = self._names.get(place.identity)
            if before is not None:
                one, other = printable(before), printable(place.name)
                if one == other:
                    raise InvalidInput(
                        f"{one}: the file is given twice, and its rows would count twice; give it "
                        "once"
                    )
                raise InvalidInput(
                    f"{one} and {other} are one file under two names, as by a link, and its rows "
                    "would count twice; remove one of the names, or list the files that are meant"
                )
            self._names[place.identity] = place.name
