"""`mipselect schema`: commands about the file that says what is public of a table."""

from __future__ import annotations

import typer

from mipselect.cli import schema_confirm

EXAMPLES = """Examples:

mipselect schema confirm patients.schema.json
"""

app = typer.Typer(
    help="Work on a schema: confirm types that were proposed from the data.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _group() -> None:
    """Keep the group where it has one command only."""


app.command("confirm", epilog=schema_confirm.EXAMPLES)(schema_confirm.confirm)
