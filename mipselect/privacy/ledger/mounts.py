"""File system of a path, where the system tells: locks do not hold on all of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mipselect.errors import LedgerNotWritten

NETWORK = re.compile(
    r"afs|beegfs|cifs|lustre|ncpfs|nfs4?|orangefs|smb3|smbfs"
    r"|fuse\.(davfs2|gcsfuse|glusterfs|gvfsd-fuse|rclone|s3fs|sshfs)"
)
MOUNTS = Path("/proc/self/mountinfo")


def network_file_system(path: Path, *, mounts: Path = MOUNTS) -> str | None:
    """Return the kind of network file system that `path` is on; None if none is known.

    `mounts` is the table of mounted file systems, in the format of Linux.
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    kind, deepest = "", -1
    where = os.path.realpath(path)
    for line in lines:
        mounted, _, source = line.partition(" - ")
        point = _unescaped(mounted.split(" ")[4])
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place the later hides the earlier.
        if inside and len(point) >= deepest:
            kind, deepest = source.split(" ")[0], len(point)
    return kind if NETWORK.fullmatch(kind) else None


def refuse_network(path: Path) -> None:
    """Raise `LedgerNotWritten` where locks may not hold between machines."""
    kind = network_file_system(path)
    if kind is not None:
        raise LedgerNotWritten(
            f"{path}: is on a network file system ({kind}), where two machines could spend the "
            "same budget; keep the ledger on a disk of one machine. Nothing was drawn"
        )


def _unescaped(name: str) -> str:
    """Decode the name of a mount point; blanks in it are written as octal numbers."""
    for letter in (" ", "\t", "\n", "\\"):
        name = name.replace(f"\\{ord(letter):03o}", letter)
    return name
