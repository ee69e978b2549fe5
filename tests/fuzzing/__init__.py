"""A structured fuzzer of state files: valid files with one thing wrong are refused, or work; `tools/fuzz.py` runs it."""
