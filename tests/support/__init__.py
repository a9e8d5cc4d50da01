"""Problems, judges by enumeration and hostile input that tests of several files share."""
