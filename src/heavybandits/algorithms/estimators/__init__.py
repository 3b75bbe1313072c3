"""One streaming optimiser or robust mean per file; the folder is the registry, as with the policies."""
