"""Commands that `mipselect` finds by an entry point. Imports nothing, so that --help is quick."""

COMMANDS = {
    "reproduce": (
        "mipselect_papers.commands.reproduce",
        "Make the papers' figures and tables again, and say which of their claims were seen.",
    ),
}
"""Their modules, and the first lines of their help, in the order of --help."""
