"""Bank: many keyed streams at once."""

from baserate.bank.bank import Bank
from baserate.bank.step import BankStep

__all__ = ["Bank", "BankStep"]
