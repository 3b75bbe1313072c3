"""One policy per file for arms that are points of a cube; the folder is the registry, as that of the policies."""
