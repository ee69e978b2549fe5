"""Trust signals of many streams that share a model: gate, check, dependence and accuracy of each, as arrays."""

from baserate.trust.keyed.key_trust import KeyTrust
from baserate.trust.keyed.parts import KeyedRounds, KeyParts, KeySigns
from baserate.trust.keyed.state import State, saved_arrays, with_all_grids

__all__ = ["KeyParts", "KeySigns", "KeyTrust", "KeyedRounds", "State", "saved_arrays", "with_all_grids"]
