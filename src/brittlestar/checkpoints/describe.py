"""Describes the files of an agent as text, without running code from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.archive import Checkpoint, read_checkpoint
from brittlestar.checkpoints.file_names import SCORES
from brittlestar.checkpoints.files import existing
from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.rl_zoo import ZooFolder, find_statistics, read_folder
from brittlestar.checkpoints.scores import Scores, describe_steps, read_scores
from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.checkpoints.statistics import read_statistics

_NOT_ACTING = ("critic", "target", "value_net", "vf_", "lstm_critic", "log_alpha")


def describe_path(path: str) -> str:
    """Describes a zip, a statistics pickle or a folder of rl-zoo, one fact per line."""
    if Path(path).expanduser().is_dir():
        folder = read_folder(path)
        checkpoint, statistics, recorded = read_checkpoint(folder.checkpoint), folder.statistics, folder.recorded
        lines = [*_describe_folder(folder), *_describe_checkpoint(checkpoint)]
    else:
        place = existing(path)
        if place.suffix in (".pkl", ".pickle"):
            return "\n".join(_describe_statistics(str(place)))
        checkpoint = read_checkpoint(place)
        lines = _describe_checkpoint(checkpoint)
        statistics, recorded = find_statistics(place), read_scores(place.parent / SCORES)
    if statistics:
        lines += _describe_statistics(statistics)
    return "\n".join([*lines, _line("recorded", _describe_scores(recorded, checkpoint.num_timesteps))])


def _describe_checkpoint(checkpoint: Checkpoint) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in checkpoint.versions.items() if name != "OS")
    arrays = actor_weights(checkpoint.weights).items()
    shapes = {name: f"{' x '.join(map(str, array.shape)) or 'scalar'} {array.dtype}" for name, array in arrays}
    settings = {
        "activation": checkpoint.activation or "default",
        "net_arch": "default" if checkpoint.net_arch is None else printable(checkpoint.net_arch),
        "gSDE": "yes" if checkpoint.use_sde else "no",
        "squashed": "yes" if checkpoint.squash_output else "no",
        "extractor": checkpoint.features_extractor or "default",
    }
    return [
        _line("checkpoint", checkpoint.path),
        _line("algorithm", checkpoint.algorithm or "unknown"),
        _line("policy", checkpoint.policy_class),
        _line("observations", _space(checkpoint.observation_space)),
        _line("actions", _space(checkpoint.action_space)),
        _line("settings", ", ".join(f"{name} {value}" for name, value in settings.items())),
        *(_line("layer", f"{name} {shape}") for name, shape in shapes.items()),
        _line("timesteps", "unknown" if checkpoint.num_timesteps is None else f"{checkpoint.num_timesteps}"),
        _line("versions", versions or "not recorded"),
        *(_line("would run", f"{name} (if Stable-Baselines3 loads it)") for name in checkpoint.pickles),
    ]


def actor_weights(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tensors of the actor, without critics, value networks and target networks.

    Example:
        >>> sorted(actor_weights(dict.fromkeys(["actor.mu.weight", "critic.qf0.0.weight", "q_net_target.x"])))
        ['actor.mu.weight']
    """
    return {name: tensor for name, tensor in weights.items() if _acts(name)}


def _acts(name: str) -> bool:
    return not any(part.startswith(_NOT_ACTING) or part.endswith("_target") for part in name.split("."))


def _describe_folder(folder: ZooFolder) -> list[str]:
    normalized = f"yes {folder.normalize_kwargs or ''}".strip() if folder.normalized else "no"
    wrappers = [f"{name} {printable(kwargs or '')}".strip() for name, kwargs in folder.wrappers.items()]
    return [
        _line("folder", folder.path),
        _line("trained by", f"{folder.algorithm} in {folder.env_id}"),
        _line("normalised", printable(normalized)),
        _line("wrappers", ", ".join(wrappers) or "none"),
        *([_line("frame stack", f"{folder.frame_stack}")] if folder.frame_stack else []),
    ]


def _describe_scores(scores: Scores | None, step: int | None) -> str:
    if scores is None:
        return f"no {SCORES}"
    pooled = scores.last(step)
    if pooled is None:
        return f"no evaluation in {SCORES} up to step {step}"
    returns, count = pooled.returns.ravel(), len(pooled.returns)
    spread = returns.std(ddof=1) if len(returns) > 1 else float("nan")
    steps = "" if pooled.steps is None else f", {describe_steps(count, *pooled.steps[[0, -1]].tolist())}"
    return f"return {returns.mean():.2f}, std {spread:.2f}, n {len(returns)}{steps}"


def _describe_statistics(path: str) -> list[str]:
    statistics = read_statistics(path)
    shapes = [f"{printable(key)} {mean.shape}".strip() for key, mean in statistics.mean.items()]
    text = (
        f"observations {', '.join(shapes) or 'none'}, count {statistics.count:g}, epsilon {statistics.epsilon:g}, "
        f"clip {statistics.clip:g}, norm_obs {statistics.norm_obs}, norm_reward {statistics.norm_reward}"
    )
    return [_line("statistics", path), _line("", text)]


def _space(space: Space) -> str:
    text = printable(str(space), 200)
    return text if len(text) <= 100 else describe_space(space)


def _line(name: str, value: str) -> str:
    return f"{name:<13}{printable(value, 400)}".rstrip()
