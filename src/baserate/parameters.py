"""Parameters as scikit-learn expects them (`get_params`, `set_params`, `clone`), without importing scikit-learn.

That import would take longer than all others together, and is seldom needed.
"""

import copy
import inspect
from typing import Any, Self, TypeVar, cast
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Parametrised:
    """Base of objects with parameters: the constructor's arguments, each stored unchanged under its own name.

    It works as an estimator in scikit-learn's `clone`, `GridSearchCV` and `Pipeline`.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Include the parameters of parameters, as ``outer__inner``.
        """
        params: dict[str, Any] = {}
        for name in _names(type(self)):
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update((f"{name}__{inner}", item) for inner, item in value.get_params().items())
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``outer__inner`` is the parameter `inner` of the parameter `outer`."""
        inner: dict[str, dict[str, Any]] = {}
        known = _names(type(self))
        for name in params:
            outer = name.partition("__")[0]
            if outer not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(known) or 'none'}."
                )
        for name, value in params.items():
            outer, nested, rest = name.partition("__")
            if nested:
                inner.setdefault(outer, {})[rest] = value
            else:
                setattr(self, name, value)
        for outer, values in inner.items():
            getattr(self, outer).set_params(**values)
        return self

    def __sklearn_clone__(self) -> Self:
        params = {name: clone(value) for name, value in self.get_params(deep=False).items()}
        new = type(self)(**params)
        for name, value in params.items():
            if getattr(new, name) is not value:
                raise RuntimeError(
                    f"{self} cannot be cloned: its constructor does not store its argument {name!r} as it is."
                )
        return new

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator  # type: ignore[import-untyped]

        return BaseEstimator.__sklearn_tags__(self)

    def __repr__(self) -> str:
        """Return the constructor call, without arguments that have their default."""
        defaults = _names(type(self))
        given = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        shown = (f"{name}={text}" for name, text in given.items() if text != repr(defaults[name]))
        return f"{type(self).__name__}({', '.join(shown)})"


def clone(obj: T) -> T:
    """Return a new object with the same parameters and no running state.

    Objects without parameters are copied. The same as scikit-learn's ``clone(obj, safe=False)``.
    """
    return cast(T, _clone(obj))


def _clone(obj: Any) -> Any:
    if isinstance(obj, list | tuple):
        return type(obj)(_clone(item) for item in obj)
    if isinstance(obj, type) or not hasattr(obj, "get_params"):
        return copy.deepcopy(obj)
    if hasattr(obj, "__sklearn_clone__"):
        return obj.__sklearn_clone__()
    return Parametrised.__sklearn_clone__(obj)


def _names(cls: type) -> dict[str, Any]:
    """Return the arguments of a constructor, with their defaults; to look takes longer than a small object to save."""
    found = _known.get(cls)
    if found is None:
        found = {name: argument.default for name, argument in sorted(inspect.signature(cls).parameters.items())}
        _known[cls] = found
    return found


_known: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
