"""One policy per file; the folder is the registry: ``kl_ucb.py`` holds the policy ``kl-ucb``."""
