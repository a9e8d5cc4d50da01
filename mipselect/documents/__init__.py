"""Documents: Markdown whose every text is escaped, HTML pages, which are that Markdown; figures."""
