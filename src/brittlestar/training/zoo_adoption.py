"""Adopts a finished training into the zoo, and checks the policies of the zoo against their cards."""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittlestar.cells.config_files import contents
from brittlestar.cells.files import previous, write_folder
from brittlestar.checkpoints import read_checkpoint
from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.config.build import build
from brittlestar.engine.cores import cores
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.errors import UserError
from brittlestar.policies.base import Policy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.zoo.cards import CARD, HOME, files, is_shipped, read_card, recipe
from brittlestar.results.format import brackets
from brittlestar.training.folder import METADATA, RESOLVED_CONFIG, exclusive
from brittlestar.training.scores import rank, score_intervals, score_line
from brittlestar.training.spec import AROUND, build_parts
from brittlestar.training.zoo_match import check_recipe

MAX_ZOO_BYTES = 1_000_000
"""Largest size of a policy with its statistics."""
CANDIDATES = ("final", "best")
"""Checkpoints of a training; of two that are as good, the first one is taken."""
CHOICE = (100, 2_000_000)
"""Episodes and seed of the evaluation that chooses between the candidates."""
CARD_EVALUATION = (200, 3_000_000)
"""Episodes and seed of the evaluation for the card. Choosing the better of two biases the scores of the choice."""
_SOFTWARE = ("Python", "Stable-Baselines3", "PyTorch")
_OF_ONE_RUN = ("tensorboard_log", "start_time")


class WeakerError(UserError):
    """A training is weaker than the policy that the zoo already has."""


def adopt(name: str, training: Path, home: Path = HOME, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Copies the better checkpoint of a finished training into the zoo, evaluates it, and returns its card.

    The training is one of the recipe, with further overrides if there are any. Raises a `WeakerError`, and changes
    nothing, unless it is better than what the zoo has by the rule of `refuse_weaker`.
    """
    facts, config = _read(training, METADATA), _read(training, RESOLVED_CONFIG)
    check_recipe(name, training, facts, config, overrides)
    # What the new policy is compared with is what it replaces: no other adoption of the name runs meanwhile.
    with exclusive(home / f".{name}.adoption"):
        _restore(home / name)
        return _adopt(name, training, facts, config, home)


def _restore(folder: Path) -> None:
    """Puts a policy back that an adoption was about to replace when it was killed."""
    if not folder.exists() and previous(folder).is_dir():
        previous(folder).rename(folder)


def _adopt(name: str, training: Path, facts: dict[str, Any], config: dict[str, Any], home: Path) -> dict[str, Any]:
    candidate, candidate_rank = max(_ranks(training, config).items(), key=lambda item: item[1])
    choice = {"episodes": CHOICE[0], "seed": CHOICE[1], "taken": candidate, "rank": candidate_rank}

    def fill(fresh: Path) -> None:
        _copy(training / candidate, fresh)
        card = _card(name, training.name, facts, config, fresh) | {"choice": choice}
        if card["bytes"] > MAX_ZOO_BYTES:
            raise UserError(f"{training} is too large for the zoo: {card['bytes']:,} bytes, at most {MAX_ZOO_BYTES:,}")
        if is_shipped(name, home):
            refuse_weaker(name, card, config, home)
        (fresh / CARD).write_text(json.dumps(card, indent=1) + "\n")

    write_folder(home / name, fill)
    return read_card(name, home)


def refuse_weaker(name: str, card: dict[str, Any], config: dict[str, Any], home: Path = HOME) -> None:
    """Raises a `WeakerError` unless the policy of a card is better than that in the zoo, or is the same.

    Both act clean and, for a training under noise, under that noise, in the episodes of the card. The one with the
    higher success at the end of the episode is better, then the one with the higher return. Of two that are as good,
    the one that was better in the episodes of the choice is; without that, the zoo keeps its own.
    """
    if _digests(home / name) == card["sha256"]:
        return
    kinds = [kind for kind in ("clean", "disturbed") if card[kind]]
    policy = _load(home / name)
    shipped = [score_policy(policy, config, *CARD_EVALUATION, disturbed=kind == "disturbed") for kind in kinds]
    own = [card[kind] for kind in kinds]
    is_tie = rank(own) == rank(shipped)
    if rank(own) > rank(shipped) or (is_tie and _is_better_choice(card, read_card(name, home))):
        return
    lines = (score_line(scores) for scores in (own[-1], shipped[-1]))
    relation = "which is as good: " if is_tie else ""
    reason = f"{relation}{kinds[-1]}, the training has {' and the zoo '.join(lines)}"
    raise WeakerError(f"the zoo keeps its `{name}`{',' if is_tie else ':'} {reason}")


def _is_better_choice(card: dict[str, Any], shipped: dict[str, Any]) -> bool:
    """Whether a card has the higher rank in the episodes of the choice, if both were measured in the same way."""
    own, other = card["choice"], shipped.get("choice", {})
    keys = ("env_config", *AROUND)
    is_same = [card.get(key) for key in keys] == [shipped.get(key) for key in keys]
    is_same = is_same and all(own[key] == other.get(key) for key in ("episodes", "seed"))
    return is_same and "rank" in other and list(own["rank"]) > list(other["rank"])


def check_card(name: str, home: Path = HOME) -> list[str]:
    """Evaluates a policy again, on the episodes of its card, and returns the differences."""
    card, digests = read_card(name, home), _digests(home / name)
    lines = [f"{file} is not the file of the card" for file, sha in card["sha256"].items() if digests.get(file) != sha]
    size = sum(path.stat().st_size for path in files(home / name))
    if size > MAX_ZOO_BYTES:
        lines.append(f"{size:,} bytes, at most {MAX_ZOO_BYTES:,}")
    if lines:
        return lines
    policy, config = _load(home / name), {"env": card["env_config"]} | {group: card[group] for group in AROUND}
    for kind in ("clean", "disturbed"):
        if card[kind]:
            episodes, seed = card[kind]["episodes"], card[kind]["seed"]
            scores = score_policy(policy, config, episodes, seed, disturbed=kind == "disturbed")
            lines += [f"{kind} {line}" for line in _outside(card[kind], scores)]
    return lines


def score_policy(
    policy: Policy, config: dict[str, Any], episodes: int, seed: int, disturbed: bool = False
) -> dict[str, Any]:
    """Evaluates a policy, clean or with the parts of its training; returns scores with 95 % intervals over episodes."""
    parts = build_parts(config, policy) if disturbed else Parts(policy)
    rows = run_episodes(build(config["env"], "env"), parts, Plan(episodes, seed), threads=cores())
    return {"episodes": episodes, "seed": seed} | score_intervals(rows)


def _is_disturbed(config: dict[str, Any]) -> bool:
    return not build(config["perturbation"], "perturbation").is_identity


def _read(training: Path, file: str) -> dict[str, Any]:
    path = training / file
    if not path.is_file():
        raise UserError(f"{training} is not a finished training: it has no {file}")
    return dict(json.loads(path.read_text()))


def _ranks(training: Path, config: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Returns the rank of each candidate, clean and as disturbed as in training."""
    kinds = [False, True] if _is_disturbed(config) else [False]
    names = [name for name in CANDIDATES if (training / name / POLICY).is_file()]
    if not names:
        raise UserError(f"{training} has neither {' nor '.join(f'{name}/{POLICY}' for name in CANDIDATES)}")
    return {
        name: rank([score_policy(_load(training / name), config, *CHOICE, disturbed=kind) for kind in kinds])
        for name in names
    }


def _load(folder: Path) -> Sb3Policy:
    return Sb3Policy(str(folder / POLICY))


def _copy(source: Path, target: Path) -> None:
    """Copies policy and statistics without place and time of the run, so that equal weights give equal bytes."""
    with zipfile.ZipFile(source / POLICY) as old, zipfile.ZipFile(target / POLICY, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            # A `ZipInfo` has no time of writing.
            new.writestr(zipfile.ZipInfo(entry), _cleaned(entry, old.read(entry)), zipfile.ZIP_DEFLATED, 9)
    if (source / STATISTICS).is_file():
        shutil.copyfile(source / STATISTICS, target / STATISTICS)


def _cleaned(entry: str, content: bytes) -> bytes:
    if entry == "data":
        data = json.loads(content)
        return json.dumps({key: value for key, value in data.items() if key not in _OF_ONE_RUN}).encode()
    if entry == "system_info.txt":
        return b"".join(line for line in io.BytesIO(content) if b"OS:" not in line)
    return content


def _card(name: str, training: str, facts: dict[str, Any], config: dict[str, Any], folder: Path) -> dict[str, Any]:
    policy, disturbed = _load(folder), _is_disturbed(config)
    software = read_checkpoint(str(folder / POLICY)).versions
    # The policy of an expert, by its digest: a later one may have the same name.
    learned_from = contents(config["algo"])
    return {
        "name": name,
        "recipe": recipe(name),
        "training": training,
        "env": facts["env"],
        "env_config": config["env"],
        "algorithm": facts["algorithm"],
        "settings": facts["settings"],
        **({"files": learned_from} if learned_from else {}),
        "seed": facts["seed"],
        "steps": facts["steps"],
        "seconds": facts["seconds"],
        **{group: config[group] if disturbed else None for group in AROUND},
        "versions": {name: software[name] for name in _SOFTWARE if name in software} | facts["versions"],
        "clean": score_policy(policy, config, *CARD_EVALUATION),
        "disturbed": score_policy(policy, config, *CARD_EVALUATION, disturbed=True) if disturbed else None,
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "sha256": _digests(folder),
    }


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files(folder)}


def _outside(card: dict[str, Any], scores: dict[str, Any]) -> list[str]:
    """Returns a line for each score outside the interval of the card."""
    lines = []
    for key, interval in card.items():
        if not isinstance(interval, dict):
            continue
        mean, slack = scores[key]["mean"], 1e-6 * abs(interval["mean"])
        if not interval["low"] - slack <= mean <= interval["high"] + slack:
            lines.append(f"{key} is {mean:.4g}, the card has {brackets(interval['low'], interval['high'])}")
    return lines
