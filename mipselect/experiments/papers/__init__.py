"""Every figure and table of the five papers: one file each, declared before it is run."""
