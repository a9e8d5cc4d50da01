"""`mipselect schema`: fill in a schema in a form or a spreadsheet, and confirm its types."""

from __future__ import annotations

import typer

from mipselect.cli import schema_confirm, schema_csv, schema_edit

EXAMPLES = """Examples:

mipselect schema edit patients.schema.json --open

mipselect schema to-csv patients.schema.json patients.schema.csv

mipselect schema from-csv patients.schema.csv filled.schema.json

mipselect schema confirm patients.schema.json
"""

app = typer.Typer(
    help="Fill in a public schema, in a form or a spreadsheet: edit, to-csv, from-csv, confirm.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("edit", epilog=schema_edit.EXAMPLES)(schema_edit.edit)
app.command("to-csv", epilog=schema_csv.EXAMPLES)(schema_csv.to_csv)
app.command("from-csv", epilog=schema_csv.EXAMPLES)(schema_csv.from_csv)
app.command("confirm", epilog=schema_confirm.EXAMPLES)(schema_confirm.confirm)
