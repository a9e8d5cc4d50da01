"""Arguments and help of `mipselect instances` and `mipselect solvers`."""

from __future__ import annotations

from mipselect.cli.declared import command_in, group, options
from mipselect.cli.options import NO_FILE, Delivery

EXAMPLES = """Examples:

mipselect instances

mipselect solvers --json
"""


@options
class ListingArguments:
    """Arguments of `instances` and of `solvers`."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command_in("mipselect.cli.instances")
def instances(arguments: ListingArguments) -> None:
    """List the stored instances."""


@command_in("mipselect.cli.solvers")
def solvers(arguments: ListingArguments) -> None:
    """List the back ends that are installed, and whether they can be used here."""
