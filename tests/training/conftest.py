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
