"""The version, which is that of baserate."""

__version__ = "0.1.0"
