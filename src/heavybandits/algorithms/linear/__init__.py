"""One policy per file for rewards that are linear in features; the folder is the registry, as that of the policies."""
