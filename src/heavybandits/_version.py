"""The version; nothing else states it."""

__version__ = "0.2.0"
