"""The parts that a command of another package is made of, so that it behaves like the others.

Such a package names its commands under the entry points `mipselect.commands`; see
`mipselect_papers.commands` for an example.
"""

from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.output import (
    SENSITIVE,
    Delivery,
    Interrupted,
    banner,
    check_output,
    check_writable,
    heading,
    write_whole,
)
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.disk import regular_file, unreadable
from mipselect.validation import checked_integer

__all__ = [
    "SENSITIVE",
    "Delivery",
    "Interrupted",
    "Spinner",
    "argument",
    "banner",
    "check_output",
    "check_writable",
    "checked_integer",
    "command",
    "group",
    "heading",
    "option",
    "options",
    "regular_file",
    "required",
    "say",
    "unreadable",
    "write_whole",
]
