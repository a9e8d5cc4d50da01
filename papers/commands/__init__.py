"""Commands that `mipselect` finds by an entry point. Imports nothing, so that --help is quick."""

COMMANDS = {
    "bench": (
        "mipselect_papers.commands.bench",
        "Run every selector on the same data and compare what it finds with the certified optimum.",
    ),
    "plot": (
        "mipselect_papers.commands.plot",
        "Draw the trials in FILE: a line for each selector, a panel for each instance.",
    ),
    "reproduce": (
        "mipselect_papers.commands.reproduce",
        "Make the papers' figures and tables again, and say which of their claims were seen.",
    ),
}
"""Their modules, and the first lines of their help, in the order of --help."""
