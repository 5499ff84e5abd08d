"""Takes a finished training into the zoo, and checks what is there."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from brittlestar.cells.files import write_folder
from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import CARD, HOME, files, read_card, recipe
from brittlestar.training.folder import METADATA, RESOLVED_CONFIG
from brittlestar.training.zoo_scores import STRESS, is_disturbed, rank, score

MAX_BYTES = 1_000_000
"""Of a policy with its statistics."""
CANDIDATES = ("final", "best")
"""Of a training; the first one, where both are as good."""
CHOICE = (100, 2_000_000)
"""Episodes and seed of the evaluation that chooses between the candidates."""
SCORE = (200, 3_000_000)
"""Of the evaluation for the card: on other episodes, because the better of two looks better than it is."""
_SOFTWARE = ("Python", "Stable-Baselines3", "PyTorch")
_OF_ONE_RUN = ("tensorboard_log", "start_time")


def adopt(name: str, training: Path, home: Path = HOME) -> dict[str, Any]:
    """Copies the better checkpoint of a finished training into the zoo, measures it anew, and returns its card.

    Args:
        name: of the recipe.
        training: the folder of the training.
        home: folder of the policies.
    """
    facts, config = _read(training, METADATA), _read(training, RESOLVED_CONFIG)
    _check_recipe(name, training, facts, config)
    taken, chosen = max(_candidates(training, config).items(), key=lambda item: item[1])
    choice = {"episodes": CHOICE[0], "seed": CHOICE[1], "taken": taken, "rank": chosen}

    def fill(fresh: Path) -> None:
        _copy(training / taken, fresh)
        card = _card(name, training.name, facts, config, fresh) | {"choice": choice}
        if card["bytes"] > MAX_BYTES:
            raise UserError(f"{training} is too large for the zoo: {card['bytes']:,} bytes, at most {MAX_BYTES:,}")
        (fresh / CARD).write_text(json.dumps(card, indent=1) + "\n")

    write_folder(home / name, fill)
    return read_card(name, home)


def check(name: str, home: Path = HOME) -> list[str]:
    """Measures a policy again, on the episodes of its card, and returns what does not agree with it."""
    card = read_card(name, home)
    found = _digests(home / name)
    other = [file for file, digest in card["sha256"].items() if found.get(file) != digest]
    wrong = [f"{file} is not the file of the card" for file in other]
    size = sum(path.stat().st_size for path in files(name, home))
    if size > MAX_BYTES:
        wrong.append(f"{size:,} bytes, at most {MAX_BYTES:,}")
    if wrong:
        return wrong
    policy, config = _load(home / name), _config(card)
    for kind in ("clean", "disturbed"):
        if card[kind]:
            again = score(policy, config, card[kind]["episodes"], card[kind]["seed"], disturbed=kind == "disturbed")
            wrong += [f"{kind} {line}" for line in _outside(card[kind], again)]
    return wrong


def _read(training: Path, file: str) -> dict[str, Any]:
    path = training / file
    if not path.is_file():
        raise UserError(f"{training} is no finished training: it has no {file}")
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def _check_recipe(name: str, training: Path, facts: dict[str, Any], config: dict[str, Any]) -> None:
    """Refuses a training of something else."""
    from brittlestar.training.zoo_trainings import compose

    wanted = compose(recipe(name))
    pairs = {
        "environment": (facts["env"], wanted["env"]["id"]),
        "algorithm": (facts["algorithm"], wanted["algo"]["name"]),
        "seed": (facts["seed"], wanted["seed"]),
        **{group: (config[group], wanted[group]) for group in STRESS},
    }
    for what, (found, asked) in pairs.items():
        if found != asked:
            raise UserError(f"{training} is no training of `{name}`: its {what} is {found}, not {asked}")


def _candidates(training: Path, config: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Returns how each checkpoint of a training ranks, clean and as disturbed as in training."""
    kinds = [False, True] if is_disturbed(config) else [False]
    places = [place for place in CANDIDATES if (training / place / POLICY).is_file()]
    if not places:
        raise UserError(f"{training} has neither {' nor '.join(f'{place}/{POLICY}' for place in CANDIDATES)}")
    return {
        place: rank([score(_load(training / place), config, *CHOICE, disturbed=kind) for kind in kinds])
        for place in places
    }


def _load(folder: Path) -> Any:
    from brittlestar.policies.sb3 import Sb3Policy

    return Sb3Policy(str(folder / POLICY))


def _copy(source: Path, target: Path) -> None:
    """Copies policy and statistics, without place and time of the run: the same weights give the same bytes."""
    with zipfile.ZipFile(source / POLICY) as old, zipfile.ZipFile(target / POLICY, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            # Without the time of writing.
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
    from brittlestar.checkpoints import read_checkpoint

    policy, disturbed = _load(folder), is_disturbed(config)
    software = read_checkpoint(str(folder / POLICY)).versions
    return {
        "name": name,
        "recipe": recipe(name),
        "training": training,
        "env": facts["env"],
        "env_config": config["env"],
        "algorithm": facts["algorithm"],
        "settings": facts["settings"],
        "seed": facts["seed"],
        "steps": facts["steps"],
        "seconds": facts["seconds"],
        **{group: config[group] if disturbed else None for group in STRESS},
        "versions": {name: software[name] for name in _SOFTWARE if name in software} | facts["versions"],
        "clean": score(policy, config, *SCORE),
        "disturbed": score(policy, config, *SCORE, disturbed=True) if disturbed else None,
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "sha256": _digests(folder),
    }


def _config(card: dict[str, Any]) -> dict[str, Any]:
    return {"env": card["env_config"]} | {group: card[group] for group in STRESS}


def _digests(folder: Path) -> dict[str, str]:
    paths = [folder / file for file in (POLICY, STATISTICS) if (folder / file).is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def _outside(card: dict[str, Any], again: dict[str, Any]) -> list[str]:
    """Returns the scores that left the card's intervals."""
    lines = []
    for key, known in card.items():
        if not isinstance(known, dict):
            continue
        mean, slack = again[key]["mean"], 1e-6 * abs(known["mean"])
        if not known["low"] - slack <= mean <= known["high"] + slack:
            lines.append(f"{key} is {mean:.4g}, the card says [{known['low']:.4g}, {known['high']:.4g}]")
    return lines
