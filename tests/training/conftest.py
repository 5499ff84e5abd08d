import pytest

SMALL = ["steps=256", "episodes=5", "env.max_steps=3"]
"""Overrides of a training that learns nothing."""


@pytest.fixture(autouse=True)
def _one_thread():
    """Two threads only wait for each other in networks this small."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Returns a function that trains a recipe for a moment; it returns the folders of the zoo and of the training."""
    from brittlestar.policies.zoo.cards import read_card
    from brittlestar.training.zoo_recipes import train_recipe

    folder = tmp_path_factory.mktemp("zoo")

    def make(name):
        home, store = folder / "policies", folder / "trainings"
        train_recipe(name, [*SMALL, f"store={store}"], home)
        (training,) = (path for path in store.iterdir() if path.name == read_card(name, home)["training"])
        return home, training

    return make


@pytest.fixture
def train():
    """Returns a function that trains in a folder, to the end or to a number of steps, and returns the folder."""
    from brittlestar.training.session import Session

    def run(spec, folder, stop_after=None):
        session = Session(spec, folder)

        def stop(running):
            running.stop.received = stop_after is not None and running.model.num_timesteps >= stop_after

        try:
            session.run(stop)
        except KeyboardInterrupt:
            assert stop_after is not None
        finally:
            session.close()
        return folder

    return run


@pytest.fixture
def experts(tmp_path, monkeypatch):
    """Makes `experts:lean` for CartPole, and `experts:brake` for Pendulum, policies to learn from."""
    (tmp_path / "experts.py").write_text(
        "import numpy as np\n\n\n"
        "def lean(observation):\n    return int(observation[2] + observation[3] > 0)\n\n\n"
        "def brake(observation):\n    return np.clip([-observation[2]], -2, 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
