"""A structured fuzzer of state files: a valid one with something changed is refused, or works. See `tools/fuzz.py`."""
