"""One streaming optimiser or robust mean per file; the classes with ``observe`` are registered by their names."""
