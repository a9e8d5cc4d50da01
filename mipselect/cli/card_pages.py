"""A privacy card as Markdown and as one HTML file that loads nothing."""

from __future__ import annotations

import re
from html import escape

from mipselect.cli.card_parts import Card, Entry

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&!$])")
"""Letters that Markdown may take for more."""

STYLE = """
body { font-family: sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; line-height: 1.4 }
table { border-collapse: collapse; width: 100% }
th, td { border: 1px solid #bbb; padding: .4rem .6rem; text-align: left; vertical-align: top;
         overflow-wrap: anywhere }
th { width: 32%; font-weight: 600; background: #f4f4f4 }
.blank { background: #fff3c4; font-style: italic }
@media print { .blank { background: none; border: 2px dashed #888 } }
"""


def markdown_page(card: Card) -> str:
    """Write the card as Markdown: a heading and a table for each part."""
    lines = [f"# {_plain(card.title)}", ""]
    for part in card.parts:
        lines += [f"## {part.title}", "", "| | |", "| --- | --- |"]
        lines += [f"| {_plain(entry.name)} | {_markdown(entry)} |" for entry in part.entries]
        lines.append("")
    return "\n".join(lines)


def html_page(card: Card) -> str:
    """Write the card as one HTML file, without scripts and without anything from elsewhere."""
    title = escape(card.title)
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
    ]
    for part in card.parts:
        lines.append(f"<h2>{escape(part.title)}</h2><table>")
        lines += [f"<tr><th>{escape(entry.name)}</th>{_cell(entry)}</tr>" for entry in part.entries]
        lines.append("</table>")
    return "\n".join([*lines, "</body></html>", ""])


def _markdown(entry: Entry) -> str:
    if entry.text is None:
        return f"**TO BE FILLED IN:** {_plain(entry.hint)}"
    return _plain(entry.text)


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text)


def _cell(entry: Entry) -> str:
    if entry.text is None:
        return f'<td class="blank">To be filled in: {escape(entry.hint)}</td>'
    return f"<td>{escape(entry.text)}</td>"
