import pytest

from brittlestar.cells.job import Job


@pytest.fixture
def job(tmp_path):
    config = {
        "env": {"_target_": "brittlestar.envs.EnvSpec", "id": "Pendulum-v1", "max_steps": 5, "lanes": 2},
        "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
        "perturbation": {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.1},
        "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"},
        "stress_schedule": {"_target_": "brittlestar.schedules.Constant", "level": 1.0},
        "episodes": 3,
        "seed": 0,
        "episode_seeds": "independent",
        "deterministic": True,
        "lanes": 2,
        "threads": None,
        "store": str(tmp_path / "store"),
        "study": None,
    }
    return Job(config, {"env": "pendulum"}, ["seed=0"])
