"""The search for any convex loss: Fenchel bounds of restricted problems."""
