"""Offers a policy to other programs by a websocket."""

import sys
from typing import Any

from brittlestar.commands.hydra_app import print_help, read_arguments, run_hydra
from brittlestar.commands.interruption import keep_nothing
from brittlestar.commands.terminal import WRONG_USAGE, command, leave, use_one_thread


@command
def main() -> None:
    """Serves one policy until a signal ends it."""
    keep_nothing()
    print_help("serve")
    use_one_thread()
    read_arguments()
    if {"-m", "--multirun"} & set(sys.argv[1:]):
        leave("`serve` offers one policy, without `-m`: start one server for each, with another `port`", WRONG_USAGE)
    from brittlestar.config import ServeConfig

    composed: list[Any] = []
    run_hydra(lambda config: composed.append(_plain(config)), "serve", ServeConfig)
    if composed:
        _serve(*composed[0])


def _plain(config: Any) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    from hydra.core.hydra_config import HydraConfig

    from brittlestar.config import plain_config

    hydra = HydraConfig.get()
    return plain_config(config), dict(hydra.runtime.choices), list(hydra.overrides.task)


def _serve(config: dict[str, Any], choices: dict[str, Any], overrides: list[str]) -> None:
    from brittlestar.cells.offer import make_offer
    from brittlestar.policies.server.address import read_token
    from brittlestar.policies.server.endpoint import HEALTH, PolicyEndpoint, is_loopback

    token = read_token(config["token_variable"])
    named = make_offer(config, choices, overrides)
    endpoint = PolicyEndpoint(named.offer, named.metadata, config["host"], config["port"], token)
    for note in named.notes:
        print(f"note: {note}", file=sys.stderr)
    if not token and not is_loopback(config["host"]):
        who = "every program that reaches this machine may use the policy"
        variable = config["token_variable"]
        how = f"set the environment variable {variable} for a token" if variable else "`token_variable=null` takes none"
        print(f"note: {who}; {how}", file=sys.stderr)
    access = "with a token" if token else "without a token"
    where = f"{endpoint.url} {access}, http{endpoint.url[2:]}{HEALTH} for checks"
    print(f"serving {named.name} for {named.metadata['env']} at {where}; Ctrl-C ends it", flush=True)
    endpoint.serve_forever()
