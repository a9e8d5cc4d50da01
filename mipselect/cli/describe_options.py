"""Arguments and help of `mipselect describe`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import command_in, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.table_options import TableArgument

EXAMPLES = """Examples:

mipselect describe patients.parquet --output patients.schema.json

mipselect describe survey.sav --output survey.schema.json

mipselect describe survey.csv --delimiter ";" --codebook codebook.json
"""


@options
class DescribeArguments:
    """Arguments of `describe`."""

    table: TableArgument = group(TableArgument)
    codebook: Path | None = option(
        "--codebook",
        "Labels, categories and codes of no value from this file: a Table Schema or data package "
        "of Frictionless (JSON), or a file of SPSS, Stata or SAS.",
        metavar="FILE",
        show_default="a data package next to DATA",
    )
    types_from_data: bool = option(
        "--types-from-data",
        "Of CSV and Excel: propose integer, number, boolean, date or string from the rows, and to "
        "ignore texts that never repeat. SENSITIVE until 'mipselect schema confirm'.",
        default=False,
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Write the schema to FILE, for you to fill in."},
    )


@command_in("mipselect.cli.describe")
def describe(arguments: DescribeArguments) -> None:
    """Begin the public schema of DATA, and list what you must fill in.

    Names and stored types are read from the header; of SPSS, Stata and SAS also
    labels, categories and codes of no value. --codebook adds what somebody wrote
    down. No range, no category and no number of rows is taken from the data, and
    no type without --types-from-data.
    """
