"""A policy or an environment by one word, for commands without Hydra."""

import re
from pathlib import Path
from typing import Any, cast

from brittlestar.cells.known_env import known_env
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.config import HUB, options, plain_config
from brittlestar.errors import UserError, nearest
from brittlestar.sweeps.model_list import BY_SUFFIX, check_file

_NEEDS_PATH = "path: ???"


def policy_node(word: str) -> dict[str, Any]:
    """Returns the config of a policy.

    Args:
        word: an option of the group `policy`, a file, a folder of rl-zoo or of a training, `hub:...`,
            `ws://...`, or `module:attribute`.

    Example:
        >>> policy_node("push_controller")["_target_"]
        'brittlestar.policies.PushController'
    """
    shipped, place = options("policy"), Path(word).expanduser()
    if word in shipped:
        if _NEEDS_PATH in shipped[word].read_text():
            raise UserError(f"the policy `{word}` needs a file: name the file itself in place of `{word}`")
        return _node(shipped[word])
    if place.is_dir():
        trained = place / "final" / POLICY
        option, path = ("sb3", trained) if trained.is_file() else ("zoo_folder", place)
        return _node(shipped[option], path=str(path))
    if word.startswith(HUB) or place.suffix in BY_SUFFIX:
        check_file(word)
        return _node(shipped[BY_SUFFIX.get(place.suffix, "sb3")], path=word)
    if word.startswith(("ws://", "wss://")):
        return _node(shipped["server"], url=word)
    if re.fullmatch(r"[\w.]+:[\w.]+", word):
        return _node(shipped["callable"], path=word)
    raise UserError(f"there is no policy, file or folder `{word}`; {nearest(word, shipped)}")


def env_node(word: str) -> dict[str, Any]:
    """Returns the config of an environment, by an option of the group `env` or by its id.

    Example:
        >>> env_node("fetch_push") == env_node("FetchPush-v4")
        True
    """
    shipped = options("env")
    shipped.pop("auto")
    if word in shipped:
        return _node(shipped[word])
    if not re.search(r"-v\d+$", word):
        raise UserError(f"there is no environment `{word}`; {nearest(word, shipped)}")
    return dict(known_env(word)[1])


def _node(file: Path, **values: Any) -> dict[str, Any]:
    from omegaconf import DictConfig, OmegaConf

    node = cast("DictConfig", OmegaConf.load(file))
    keys = [str(key) for key in node if key not in values and key != "defaults"]
    return plain_config(OmegaConf.masked_copy(node, keys)) | values
