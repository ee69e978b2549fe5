"""States of running objects as files, which every later version must load and continue bit for bit.

``python -m tests.golden.make`` writes them anew; CONTRIBUTING.md says when that may be done.
"""
