"""States of the laboratory's classes as files; ``python -m lab.tests.golden.make`` writes them anew."""
