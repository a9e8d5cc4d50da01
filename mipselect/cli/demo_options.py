"""Help of `mipselect demo`."""

from __future__ import annotations

from mipselect.cli.declared import command_in, options

EXAMPLES = """Example:

mipselect demo
"""


@options
class DemoArguments:
    """None."""


@command_in("mipselect.cli.demo")
def demo(arguments: DemoArguments) -> None:
    """Run the main job on two stored instances: search, proof, exact private draw.

    The data are public, so the sensitive report may be shown here.
    """
