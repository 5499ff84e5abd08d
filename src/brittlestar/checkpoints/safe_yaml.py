"""Reads the yaml files of rl-zoo as plain lists and dicts; Python tags construct no objects."""

import ast
import warnings
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from brittlestar.checkpoints.files import read_file
from brittlestar.checkpoints.messages import printable, unreadable

MAX_YAML_BYTES = 256 << 10
MAX_ALIASES = 100
MAX_EXPRESSION = 4_000
"""Longest setting in Python syntax, in letters."""

_ERRORS = (yaml.YAMLError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


class _PlainLoader(yaml.SafeLoader):
    """A safe loader that reads `!!python/...` as the plain value under the tag."""

    aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases")
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: Any) -> None:
        # Merged aliases can double the size with every line.
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.YAMLError("merge keys (`<<`) are not read")

    def construct_plain(self, tag: str, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self.construct_scalar(node)
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        values = self.construct_sequence(node, deep=True)
        if tag.endswith(":collections.OrderedDict"):
            return dict(values[0]) if values else {}
        return values


_PlainLoader.add_multi_constructor("tag:yaml.org,2002:python/", _PlainLoader.construct_plain)


def read_yaml(path: Path) -> dict[str, Any]:
    """Returns the settings of a yaml file whose top level is a dict; none without the file, or if it is empty."""
    content = read_file(path, MAX_YAML_BYTES) if path.is_file() else b""
    if not content:
        return {}
    try:
        # This loader is stricter than SafeLoader.
        settings = yaml.load(content, Loader=_PlainLoader)
    except _ERRORS as error:
        problem = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise unreadable(str(path), f"it is not plain yaml: {problem}") from None
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise unreadable(str(path), f"it must be a dict of settings, got a {type(settings).__name__}")
    return settings


def read_expression(text: str, where: str) -> Any:
    """Reads a setting in Python syntax: a literal, or `dict(name=literal, ...)`.

    Example:
        >>> read_expression("dict(norm_obs=True, norm_reward=False)", "config.yml")
        {'norm_obs': True, 'norm_reward': False}
    """
    try:
        if len(text) > MAX_EXPRESSION:
            raise ValueError("it is too long")
        with warnings.catch_warnings():
            # Python warns about the style of the text.
            warnings.simplefilter("ignore")
            body = ast.parse(text.strip(), mode="eval").body
        match body:
            case ast.Call(ast.Name("dict"), [], keywords) if all(part.arg for part in keywords):
                return {str(part.arg): ast.literal_eval(part.value) for part in keywords}
        return ast.literal_eval(body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise unreadable(where, f"`{printable(text, 60)}` is not a plain setting") from None
