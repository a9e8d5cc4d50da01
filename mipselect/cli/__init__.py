"""The command line. Results go to standard output, progress and errors to standard error."""

from mipselect.cli.start import main

__all__ = ["main"]
