"""Documents of plain blocks, written once and shown as HTML or as Markdown."""
