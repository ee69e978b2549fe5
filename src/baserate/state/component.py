"""The base of every object that can be saved."""

import copy
from typing import Any, ClassVar, Self

from baserate.guard import Guard
from baserate.parameters import Parametrised, clone
from baserate.state.declarations import Saves
from baserate.state.registry import register
from baserate.state.unreadable import UnreadableError


class Component(Parametrised):
    """Base of all objects that have parameters and running state.

    As scikit-learn's estimators it has `get_params`, `set_params` and a repr, and can be cloned; the constructor stores
    its arguments untouched. Its running state is whatever else it holds: arrays, numbers, strings, lists, dicts,
    further components.

    A subclass gives the name that files know it by, ``class Mine(Component, saved_as="mine")``, with ``layout=2`` the
    version of what it saves, and declares in `saves` what that is. A layout that changed is read by `upgrade`.
    """

    _saved_as: ClassVar[str]
    _layout: ClassVar[int]
    saves: ClassVar[Saves | None] = None
    """The declaration of what a file may hold; each class has its own, and inherits none, as it may hold more. The
    state of a class without one, such as other people's, is taken as it is."""

    def __init_subclass__(cls, *, saved_as: str | None = None, layout: int = 1, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._saved_as, cls._layout = register(cls, saved_as), layout

    def get_state(self) -> dict[str, Any]:
        """Return the running state: all attributes that are not parameters; a guard against other threads is none."""
        params = self.get_params(deep=False)
        return {
            name: value for name, value in vars(self).items() if name not in params and not isinstance(value, Guard)
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore a copy of a state from `get_state`; two objects never share state."""
        self.__dict__.update(copy.deepcopy(state))
        return self

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Turn parameters and state of an older layout into those of the current one.

        Parameters
        ----------
        layout : int
            The layout they were saved with, less than the class's own.
        params, state : dict
            As they were saved.

        Returns
        -------
        (params, state)
            As they would be saved now.
        """
        raise UnreadableError(
            f"holds a {cls._saved_as} of layout {layout}, which this version does not read any more; fit anew"
        )

    def _to_saved(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters and the state to save; classes that hold a foreign model override it."""
        return self.get_params(deep=False), self.get_state()

    @classmethod
    def _from_saved(cls, params: dict[str, Any], state: dict[str, Any]) -> Self:
        """Return the object that `_to_saved` gave the parameters and the state of."""
        return cls(**params).set_state(state)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return instances for the contract checks of `baserate.checks`, one per mode with code of its own."""
        return [cls()]


class Beginning(Component):
    """Base of components that restart when a parameter changes: `_begin` checks parameters and makes the state."""

    def _begin(self) -> None:
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Change parameters, and restart with them."""
        if params:
            changed = clone(self)  # so that a refused value leaves the object as it was
            super(Beginning, changed).set_params(**params)
            changed._begin()
            self.__dict__ = changed.__dict__
        return self
