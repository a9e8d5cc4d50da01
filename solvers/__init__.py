"""MIP back ends of mipselect, one solver a file; found through entry points."""
