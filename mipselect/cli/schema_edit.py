"""`mipselect schema edit`: a page with a form for a schema, which needs no server."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, write_whole
from mipselect.cli.schema_summary import deliver_summary
from mipselect.errors import MipselectError
from mipselect.tables.form.page import form_page, is_form_page
from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect schema edit patients.schema.json

mipselect schema edit patients.schema.json --output form.html --open
"""


@options
class EditArguments:
    """Arguments of `schema edit`."""

    schema: Path = argument("SCHEMA.json", "A Table Schema; begin one with 'mipselect describe'.")
    output: Path | None = option(
        "--output",
        "Receives the page.",
        metavar="FILE.html",
        show_default="the name of the schema with .html",
    )
    browser: bool = option("--open", "Open the page in the browser.", default=False)
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def edit(arguments: EditArguments) -> None:
    """Write one HTML page with a form for a schema: types, ranges, categories, codes, roles.

    It checks while you type, and saves a schema file as a download. There is no
    server, nothing is loaded, and no value of the table is in it.
    """
    given = arguments.schema
    path = given.with_suffix(".html") if arguments.output is None else arguments.output
    replace = arguments.delivery.replace or (path.is_file() and is_form_page(path))
    check_output(path, [given], endings=(".html",), replace=replace)
    schema = TableSchema.read(given)
    write_whole(path, form_page(schema, given.name).encode(), sensitive=False)
    if arguments.browser and not webbrowser.open(path.resolve().as_uri()):
        raise MipselectError(f"no browser could be opened; open {path} in one yourself")
    head = {
        "command": "schema edit",
        "sensitive": False,
        "schema": str(given),
        "page": str(path),
        "opened": arguments.browser,
    }
    advice = f"Open it in a browser, save there, and put the file in place of {given}."
    deliver_summary(schema, head, f"{path}: a form for", arguments.delivery, advice)
