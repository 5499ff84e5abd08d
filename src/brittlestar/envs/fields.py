"""Numbers of a simulator by name: fields of a MuJoCo model or its data, attributes of any environment."""

from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.errors import UserError, nearest


class Fields:
    """Reads and writes the numbers of one simulator, and holds the original value of every field that is edited.

    A field is named as in MuJoCo (`body_mass`, `opt.gravity`, `data.xfrc_applied`), or as the attribute of the
    environment (`masspole`).

    Attributes:
        edited_in_model: the fields of the model whose value may differ from the original one.
    """

    def __init__(self, env: gym.Env) -> None:
        self.env: Any = env.unwrapped
        model = getattr(self.env, "model", None)
        # An environment may have a network for a model.
        self.model: Any = model if type(model).__module__.startswith("mujoco") else None
        self.data: Any = getattr(self.env, "data", None)
        self.edited_in_model: list[str] = []
        self._holders: dict[str, tuple[Any, str]] = {}
        self._originals: dict[str, Any] = {}
        self._class_attributes: set[str] = set()

    def original(self, name: str) -> Any:
        """Returns the value that a field has without any edit."""
        if name not in self._originals:
            return self._read(name)
        value = self._originals[name]
        return np.array(value) if isinstance(value, list | tuple | np.ndarray) else value

    def _read(self, name: str) -> Any:
        """Returns the value in the simulator: a number, or an array of its own."""
        value = getattr(*self._find(name))
        if not _is_numbers(value):
            raise UserError(f"`{name}` of {type(self.env).__name__} is not a number: {value!r}")
        return np.array(value) if isinstance(value, list | tuple | np.ndarray) else value

    def _find(self, name: str) -> tuple[Any, str]:
        """Returns the object that has a field, and the name of its attribute."""
        if name in self._holders:
            return self._holders[name]
        *path, field = name.split(".")
        for holder in (self.env, self.model):
            for part in path:
                holder = getattr(holder, part, None)
            if holder is not None and hasattr(holder, field):
                self._holders[name] = holder, field
                return holder, field
        raise UserError(f"{type(self.env).__name__} has no `{name}` to change; {nearest(name, self._names())}")

    def _names(self) -> list[str]:
        """Returns what can be edited: numbers of the environment, arrays of the model."""
        # Not by `dir`: reading a property of an environment may run its code.
        attributes = {key: value for kind in type(self.env).__mro__ for key, value in vars(kind).items()}
        attributes |= vars(self.env)
        names = [key for key, value in attributes.items() if not key.startswith("_") and _is_numbers(value)]
        fields = [] if self.model is None else [key for key in dir(self.model) if not key.startswith(("_", "n"))]
        return names + [key for key in fields if isinstance(getattr(self.model, key), np.ndarray)]

    def _save(self, name: str) -> None:
        """Stores the original value of a field before its first edit."""
        if name in self._originals:
            return
        (holder, field), value = self._find(name), self._read(name)
        if holder is not self.env:
            if holder is not self.data:
                self.edited_in_model.append(name)
        else:
            # Restored as it is: a list remains a list.
            value = getattr(holder, field)
            if field not in vars(holder):
                # An attribute of the class, as Acrobot's: after the edit the instance must not have one of its own.
                self._class_attributes.add(name)
        self._originals[name] = value

    def _write(self, name: str, value: Any) -> None:
        holder, field = self._find(name)
        present = getattr(holder, field)
        if holder is not self.env and isinstance(present, np.ndarray):
            present[...] = value
            return
        if isinstance(present, list | tuple) and isinstance(value, np.ndarray):
            value = type(present)(value.tolist())
        try:
            setattr(holder, field, value)
        except AttributeError:
            raise UserError(f"`{name}` of {type(self.env).__name__} is computed and cannot be set") from None

    def _write_back(self, name: str) -> None:
        if name not in self._class_attributes:
            self._write(name, self._originals[name])
        elif name in vars(self.env):
            delattr(self.env, name)


def _is_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_numbers(item) for item in value)
    kind = value.dtype.kind if isinstance(value, np.ndarray | np.generic) else ""
    return kind in "iuf" if kind else isinstance(value, int | float) and not isinstance(value, bool)
