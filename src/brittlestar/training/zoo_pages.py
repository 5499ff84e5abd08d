"""The list of the zoo, its README and the options `policy=zoo/<name>`, all written from the cards."""

from pathlib import Path
from typing import Any

from brittlestar.config import config_folder
from brittlestar.policies.zoo.cards import HOME, TARGET, choice, is_shipped, read_card, recipes, zoo_options
from brittlestar.results.format import markdown
from brittlestar.training.scores import score_text

_COLUMNS = (
    "policy", "environment", "algorithm", "trained under", "steps", "minutes", "return", "success any",
    "success final", "disturbed", "kB",
)  # fmt: skip
_README = """\
# The zoo

Written by `brittlestar zoo card` from the cards next to it. {shipped} of {all} recipes are trained.

The policies are deterministic. Their scores are means over {episodes} clean episodes that neither the training nor the
choice of the checkpoint used, with 95 % intervals over episodes (Student t for returns, Wilson for rates). Intervals do
not cover the spread between training seeds. `disturbed` is the success at any step, or else the return, under the
perturbation of the training.

{table}

- `brittlestar policy=zoo/<name>` runs a policy in its environment.
- `brittlestar zoo check` evaluates all of them again.
- `brittlestar zoo train <name>` trains a policy again by its recipe (`recipes.yaml`).
"""


def zoo_list(home: Path = HOME) -> str:
    """Returns the table of all policies and their scores, and how many are not trained yet."""
    untrained = sum(not is_shipped(name, home) for name in recipes())
    hint = f"\n\n{untrained} not trained yet: `brittlestar zoo train NAME`, or `brittlestar zoo train --all`"
    return _table(home) + (hint if untrained else "")


def pages(home: Path = HOME, folder: Path | None = None) -> dict[Path, str]:
    """Returns the text of every file that is written from the cards; `folder` is that of the yaml files."""
    folder = folder or config_folder() / "policy" / "zoo"
    yamls = {folder / f"{option}.yaml": _option(name, home) for option, name in zoo_options().items()}
    return {home / "README.md": _readme(home)} | yamls


def write_pages(home: Path = HOME, folder: Path | None = None) -> list[Path]:
    """Writes the files whose text has changed, and returns their paths."""
    texts = pages(home, folder)
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path])
    return stale


def summary(name: str, home: Path = HOME) -> str:
    """Describes a policy and its clean score in one line."""
    env, algorithm = choice(name, "env"), choice(name, "algo")
    if not is_shipped(name, home):
        return f"{algorithm} on {env}; not trained yet: `brittlestar zoo train {name}`."
    card = read_card(name, home)
    under = f" under {_noise(card)}" if _noise(card) != "no noise" else ""
    rate = card["clean"].get("success_any")
    success = f", success {100 * rate['mean']:.1f} %" if rate else ""
    return f"{algorithm} on {env}, trained{under}: return {card['clean']['return']['mean']:.4g}{success}."


def _option(name: str, home: Path) -> str:
    # The environment comes with the policy, unless the command names another.
    return (
        f"# {summary(name, home)}\n"
        f"defaults:\n  - override /env@_global_.env: {choice(name, 'env')}\n\n"
        f"_target_: {TARGET}\nname: {name}\n"
        "# For another environment than that of the training, as for `zoo_folder`; null refuses it.\n"
        "adapter: null\n"
        "# Number of the training, where the recipe has several; ${seed} gives every seed of a sweep its own.\n"
        "training: null\n"
    )


def _readme(home: Path) -> str:
    cards = [read_card(name, home) for name in recipes() if is_shipped(name, home)]
    episodes = " or ".join(str(count) for count in sorted({card["clean"]["episodes"] for card in cards})) or "no"
    return _README.format(shipped=len(cards), all=len(recipes()), episodes=episodes, table=_table(home))


def _table(home: Path) -> str:
    return markdown([_row(name, home) for name in recipes()], _COLUMNS)


def _row(name: str, home: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": name, "environment": choice(name, "env"), "algorithm": choice(name, "algo")}
    if not is_shipped(name, home):
        return row
    card = read_card(name, home)
    clean, disturbed = card["clean"], card["disturbed"] or {}
    headline = "success_any" if "success_any" in disturbed else "return"
    return row | {
        "environment": card["env"],
        "trained under": _noise(card),
        "steps": card["steps"],
        "minutes": round(card["seconds"] / 60, 1),
        "return": score_text(clean["return"]),
        "success any": score_text(clean.get("success_any"), percent=True),
        "success final": score_text(clean.get("success_final"), percent=True),
        "disturbed": score_text(disturbed.get(headline), percent=headline != "return"),
        "kB": round(card["bytes"] / 1000),
    }


def _noise(card: dict[str, Any]) -> str:
    """Returns what the observations of a training had that a clean evaluation has not."""
    augment = card["settings"].get("augment") or {}
    changes = ", ".join(f"{name} {value:g}" for name, value in augment.items() if value)
    parts = _parts(card["perturbation"]) if card["perturbation"] else []
    return "; ".join([*parts, *([f"augmented pictures ({changes})"] if changes else [])]) or "no noise"


def _parts(node: dict[str, Any]) -> list[str]:
    """Returns a perturbation with its numbers; of a composed one, each part."""
    if "parts" in node:
        return [text for part in node["parts"].values() for text in _parts(part)]
    numbers = ", ".join(f"{key} {value:g}" for key, value in node.items() if type(value) in (int, float))
    return [f"{node['_target_'].rpartition('.')[2]} {numbers}".strip()]
