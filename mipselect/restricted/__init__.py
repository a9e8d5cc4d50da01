"""Batches of restricted problems, on plain arrays, and the certificates of their solutions."""
