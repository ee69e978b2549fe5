"""HTML reports of adapt, backtest and demo, a module each, and the tables and figures that they are made of.

There are no names here: `figures`, and what imports it, needs matplotlib, so that each module is imported by itself.
"""
