"""`mipselect schema`: fill in a schema in a form or a spreadsheet."""

from __future__ import annotations

import typer

from mipselect.cli import schema_csv, schema_edit

EXAMPLES = """Examples:

mipselect schema edit patients.schema.json --open

mipselect schema to-csv patients.schema.json patients.schema.csv

mipselect schema from-csv patients.schema.csv filled.schema.json
"""

app = typer.Typer(
    help="Fill in a public schema, in a form or a spreadsheet: edit, to-csv, from-csv.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("edit", epilog=schema_edit.EXAMPLES)(schema_edit.edit)
app.command("to-csv", epilog=schema_csv.EXAMPLES)(schema_csv.to_csv)
app.command("from-csv", epilog=schema_csv.EXAMPLES)(schema_csv.from_csv)
