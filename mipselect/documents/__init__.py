"""Documents: Markdown whose every text is escaped, and HTML pages, which are that Markdown."""
