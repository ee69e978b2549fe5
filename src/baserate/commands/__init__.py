"""Commands of the command line that are too long for one module; `baserate.cli` puts them together."""
