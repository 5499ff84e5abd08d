"""Warm sweeps on all cores against bare loops, and against `evaluate_policy` of Stable-Baselines3."""

import functools
import tempfile
import time
import warnings
from typing import Any

from brittlestar.config.build import load
from brittlestar.engine.cores import cores
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.policies import Policy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.sweeps import workers

from .bare_loop import bare_env, bare_speed, record
from .sweep_ratio import against_bare_loops
from .sweeps import SeedSweep
from .timing import Figure, take_turns

_FETCH = "FetchReach-v4"
_SIGMA, _FETCH_EPISODES = 0.05, 20


def fetch_reach(quick: bool) -> list[Figure]:
    """The P controller under observation noise."""
    return _against_bare_loops(load("policy", "p_controller"), ["policy=p_controller"], quick)


def fetch_reach_sac(quick: bool) -> list[Figure]:
    """An untrained SAC actor, 2x256."""
    from stable_baselines3 import SAC

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.zip"
        SAC("MultiInputPolicy", bare_env(_FETCH), seed=0, device="cpu", buffer_size=1).save(path)
        return _against_bare_loops(Sb3Policy(path), ["policy=sb3", f"policy.path={path}"], quick)


def _against_bare_loops(policy: Policy, words: list[str], quick: bool) -> list[Figure]:
    cells = cores() * (2 if quick else 4)
    parts = Parts(policy, load("perturbation", "gaussian_observation", sigma=_SIGMA))
    episodes = [record(load("env", "fetch_reach"), parts, Plan(_FETCH_EPISODES, seed)) for seed in range(cells)]
    with tempfile.TemporaryDirectory() as folder:
        words = ["env=fetch_reach", *words, f"episodes={_FETCH_EPISODES}", f"perturbation.sigma={_SIGMA}"]
        sweep = SeedSweep(folder, cells, *words)
        return against_bare_loops(sweep, functools.partial(bare_speed, _FETCH), episodes, 2 if quick else 5)


def sb3_half_cheetah(quick: bool) -> list[Figure]:
    """HalfCheetah with an untrained 2x256 actor: its episodes all have the same length."""
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", "HalfCheetah-v5", seed=0, device="cpu", buffer_size=1)
    return _against_sb3(model, "HalfCheetah-v5", "half_cheetah", 16 if quick else 64, one=15, best=5)


def sb3_cartpole(quick: bool) -> list[Figure]:
    """CartPole with a 64x64 PPO actor that balances."""
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").learn(10_000 if quick else 40_000)
    return _against_sb3(model, "CartPole-v1", "cartpole", 256, one=100, best=20)


def _against_sb3(model: Any, env_id: str, env: str, episodes: int, one: float, best: float) -> list[Figure]:
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = f"{folder}/model.zip"
        model.save(path)
        words = (f"env={env}", "policy=sb3", f"policy.path={path}", f"episodes={episodes}")
        sweep = SeedSweep(folder, 4 * cores(), *words, f"perturbation.sigma={_SIGMA}")
        sweep()
        plain = {str(envs): functools.partial(_evaluate_policy, model, env_id, envs) for envs in (1, 8)}
        speeds = take_turns(3, **plain, ours=sweep)
        workers.stop()
    return [
        Figure("evaluate_policy, one env", speeds.median("1"), "steps/s"),
        Figure("evaluate_policy, 8 envs", speeds.median("8"), "steps/s"),
        Figure(f"warm sweep with noise, {cores()} workers", speeds.median("ours"), "steps/s"),
        Figure("sweep / one env", speeds.ratio("ours", "1"), at_least=one),
        Figure("sweep / 8 envs", speeds.ratio("ours", "8"), at_least=best),
    ]


def _evaluate_policy(model: Any, env_id: str, envs: int) -> float:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    env = make_vec_env(env_id, envs, seed=0)
    started = time.perf_counter()
    lengths: Any = evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)[1]
    seconds = time.perf_counter() - started
    env.close()
    return float(sum(lengths)) / seconds
