"""The figures of the documentation, by what they are about; `tools/figures.py` draws them."""
