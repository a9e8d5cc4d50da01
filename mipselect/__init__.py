"""Private variable selection by integer programming."""
