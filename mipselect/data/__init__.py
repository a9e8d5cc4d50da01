"""Tables, stored instances, sources and recipes: where the data of an instance come from."""
