"""The policy of a config as an offer to other programs: loaded, bound and identified as in a cell."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from brittlestar import __version__
from brittlestar.cells.config_files import contents
from brittlestar.cells.env_choice import choose_env, refuse_other_env
from brittlestar.cells.identity import engine_digest
from brittlestar.cells.job import build_env
from brittlestar.config.build import build, locate
from brittlestar.envs.ids import plain_env
from brittlestar.errors import UserError
from brittlestar.policies.server.session import Offer


class NamedOffer(NamedTuple):
    """A policy to serve, its metadata, and its name."""

    offer: Offer
    metadata: dict[str, Any]
    name: str
    notes: list[str]


def make_offer(config: dict[str, Any], choices: dict[str, Any], overrides: Sequence[str]) -> NamedOffer:
    """Makes an offer of the policy of a config; `choices` are the options of its groups.

    The policy is tried once, so that a policy that does not fit its environment is an error here.
    """
    from brittlestar.engine.evaluation import make_lanes
    from brittlestar.policies import as_policy

    for key in ("deterministic", "repeatable"):
        if not isinstance(config[key], bool | None if key == "repeatable" else bool):
            raise UserError(f"`{key}` must be {'null, ' * (key == 'repeatable')}true or false, got {config[key]}")
    node = config["policy"]
    env = choose_env(config | {"env": plain_env(config["env"])}, choices, overrides)
    spec, policy = build_env(json.dumps(env.node)), as_policy(build(node, "policy"))
    refuse_other_env(policy, spec.id)
    with closing(make_lanes(spec, 1)) as lanes:
        offer = Offer(
            lambda: as_policy(build(node, "policy")), lanes.observation_space, lanes.action_space,
            lanes.registered_steps, config["deterministic"],
        )  # fmt: skip
    name = str(choices.get("policy"))
    label = f"{name} {Path(str(node['path'])).name}" if node.get("path") else name
    digest = hashlib.sha256(json.dumps([node, contents(node)], sort_keys=True).encode()).hexdigest()[:32]
    repeatable = is_repeatable(node) if config["repeatable"] is None else config["repeatable"]
    facts: dict[str, Any] = {"server": "brittlestar", "version": __version__, "code": engine_digest(), "policy": label}
    facts |= {
        "digest": digest,
        "env": spec.id,
        "env_option": env.option,
        "deterministic": config["deterministic"],
        "repeatable": repeatable,
    }
    return NamedOffer(offer, facts | offer.describe(), label, env.notes)


def is_repeatable(node: dict[str, Any]) -> bool:
    """Whether a policy gives the same actions for the same requests: not if it is code of the user, or elsewhere.

    Example:
        >>> is_repeatable({"_target_": "brittlestar.policies.PController", "kp": 10.0})
        True
        >>> is_repeatable({"_target_": "brittlestar.policies.CallablePolicy", "path": "my_module:my_policy"})
        False
    """
    from brittlestar.policies import CallablePolicy

    kind: Any = locate(node["_target_"], "policy")
    is_ours = str(node["_target_"]).startswith("brittlestar.") and kind is not CallablePolicy and not node.get("trust")
    return is_ours and not hasattr(kind, "outside_identity")
