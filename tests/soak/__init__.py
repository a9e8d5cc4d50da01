"""Long checks, run by hand; the suite has a few rounds of each."""
