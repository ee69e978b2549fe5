"""HTML reports of adapt, backtest and demo, and the tables and figures they are made of.

`figures`, and what imports it, needs matplotlib and is imported by those who draw.
"""
