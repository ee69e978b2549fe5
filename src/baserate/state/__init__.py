"""Save and load any running object: JSON and arrays in one file, versioned, atomic, never pickle.

An object is stored as ``{class, layout, params, state}``: the name of its class, the version of what it saves, the
arguments of its constructor, and every other attribute, which may hold further objects. Only registered classes are
stored and loaded; a subclass of `Component` is registered by being defined.
"""

from baserate.state.component import Beginning, Component
from baserate.state.decoding import loads
from baserate.state.encoding import SCHEMA, dumps
from baserate.state.files import load, save, write_atomically
from baserate.state.foreign_models import fingerprint
from baserate.state.registry import registered

__all__ = [
    "SCHEMA",
    "Beginning",
    "Component",
    "dumps",
    "fingerprint",
    "load",
    "loads",
    "registered",
    "save",
    "write_atomically",
]
