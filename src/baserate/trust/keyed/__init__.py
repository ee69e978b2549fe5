"""Trust signals of many streams that share a model: gate, check, dependence and accuracy of each, as arrays."""

from baserate.trust.keyed.key_trust import KeyedRounds, KeyParts, KeySigns, KeyTrust
from baserate.trust.keyed.state import State, saved_arrays

__all__ = ["KeyParts", "KeySigns", "KeyTrust", "KeyedRounds", "State", "saved_arrays"]
