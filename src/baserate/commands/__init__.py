"""The commands of the command line, a module each; `baserate.cli` puts them together. Not meant to be imported."""
