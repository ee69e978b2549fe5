"""The experiment behind ``baserate demo``: every method on handwritten digits, under four kinds of drift."""

from baserate.demo.experiment import Cell, Demo, Problem, prepare_problem, run_demo

__all__ = ["Cell", "Demo", "Problem", "prepare_problem", "run_demo"]
