"""Every selector on the same data: trials, their file, and what they amount to. Not private."""
