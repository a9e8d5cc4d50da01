"""Stored instances; read them with `mipselect.load_instance`."""
