"""A form for a schema: one HTML page that needs no server and has no data."""
