"""Problems, which are public, their data, which are sensitive, and instances, which are both."""
