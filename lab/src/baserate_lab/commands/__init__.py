"""Commands that the laboratory adds to the command line of baserate."""
