"""Grids, tables, figures and reports."""
