"""Image networks of Stable-Baselines3: rebuilt from weights, loaded with trust, and its own predictions."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from samples import AGENTS, NAMES, bound

from brittlestar.checkpoints import read_checkpoint
from brittlestar.errors import UserError
from brittlestar.policies import extractors
from brittlestar.policies.extractors import Extractor, FlatImage, NatureCnn, read_extractors
from brittlestar.policies.sb3 import Sb3Policy, ZooFolderPolicy

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

SIZE, LANES = 36, 16
LAST, FIRST, GREY = (spaces.Box(0, 255, shape, np.uint8) for shape in ((SIZE, 40, 3), (3, SIZE, 40), (SIZE, SIZE, 4)))
UNIT = spaces.Box(0.0, 1.0, (3, SIZE, SIZE), np.float32)
BOX, CHOICE = spaces.Box(np.float32([-0.4, -2.0]), np.float32([0.5, 3.0])), spaces.Discrete(4)
DICT = spaces.Dict({"camera": LAST, "mode": spaces.Discrete(3), "speed": spaces.Box(-5.0, 5.0, (2,))})
# Gymnasium sorts a plain dict, but not pairs.
CAMERAS = spaces.Dict([("wrist", LAST), ("arm", spaces.Box(-5.0, 5.0, (2, 2))), ("scene", GREY)])
FIRSTS = spaces.Dict({"camera": FIRST, "speed": spaces.Box(-5.0, 5.0, (2,))})
LINEAR = {"net_arch": []}
KINDS = {
    "PPO last": ("PPO", "CnnPolicy", LAST, CHOICE, {}),
    "PPO first": ("PPO", "CnnPolicy", FIRST, BOX, {}),
    "PPO grey": ("PPO", "CnnPolicy", GREY, spaces.MultiDiscrete([2, 3]), {"net_arch": [8]}),
    "PPO raw bytes": ("PPO", "CnnPolicy", LAST, BOX, {"normalize_images": False}),
    "PPO floats": ("PPO", "CnnPolicy", UNIT, BOX, {"normalize_images": False}),
    "PPO 24 features": ("PPO", "CnnPolicy", LAST, BOX, {"features_extractor_kwargs": {"features_dim": 24}}),
    "PPO own critic": ("PPO", "CnnPolicy", LAST, BOX, {"share_features_extractor": False}),
    "PPO gSDE": ("PPO", "CnnPolicy", LAST, BOX, {"use_sde": True}),
    "A2C last": ("A2C", "CnnPolicy", LAST, BOX, {}),
    "A2C own critic": ("A2C", "CnnPolicy", GREY, CHOICE, {"share_features_extractor": False}),
    "TRPO": ("TRPO", "CnnPolicy", LAST, BOX, {}),
    "MaskablePPO": ("MaskablePPO", "CnnPolicy", LAST, CHOICE, {}),
    "DQN last": ("DQN", "CnnPolicy", LAST, CHOICE, {}),
    "DQN grey": ("DQN", "CnnPolicy", GREY, CHOICE, {"net_arch": [16]}),
    "QRDQN": ("QRDQN", "CnnPolicy", FIRST, CHOICE, {"n_quantiles": 5}),
    "SAC last": ("SAC", "CnnPolicy", LAST, BOX, {}),
    "SAC shared": ("SAC", "CnnPolicy", FIRST, BOX, {"share_features_extractor": True}),
    "SAC gSDE": ("SAC", "CnnPolicy", LAST, BOX, {"use_sde": True}),
    "SAC gSDE linear": ("SAC", "CnnPolicy", LAST, BOX, LINEAR | {"use_sde": True}),
    "TD3": ("TD3", "CnnPolicy", LAST, BOX, {}),
    "TD3 linear": ("TD3", "CnnPolicy", LAST, BOX, LINEAR),
    "DDPG": ("DDPG", "CnnPolicy", GREY, BOX, {}),
    "TQC": ("TQC", "CnnPolicy", LAST, BOX, {}),
    "PPO dict": ("PPO", "MultiInputPolicy", DICT, BOX, {}),
    "PPO cameras": ("PPO", "MultiInputPolicy", CAMERAS, CHOICE, {"features_extractor_kwargs": {"cnn_output_dim": 20}}),
    "PPO dict first": ("PPO", "MultiInputPolicy", FIRSTS, BOX, {}),
    "A2C dict": ("A2C", "MultiInputPolicy", DICT, CHOICE, {"share_features_extractor": False}),
    "DQN dict": ("DQN", "MultiInputPolicy", DICT, CHOICE, {}),
    "SAC dict": ("SAC", "MultiInputPolicy", DICT, BOX, {}),
    "TD3 cameras": ("TD3", "MultiInputPolicy", CAMERAS, BOX, {}),
    "PPO rows": ("PPO", "MlpPolicy", LAST, BOX, {}),
    "PPO raw rows": ("PPO", "MlpPolicy", FIRST, CHOICE, {"normalize_images": False}),
    "SAC rows": ("SAC", "MlpPolicy", LAST, BOX, {}),
}
SETTINGS = ("use_sde",)
"""Arguments of an algorithm, not of its policy."""


class Toy(gym.Env):
    """Any spaces."""

    def __init__(self, seen, acts):
        self.observation_space, self.action_space = seen, acts


def images_of(space, count, seed=0):
    """Patterns that differ in brightness and contrast, so that features differ."""
    rng = np.random.default_rng(seed)
    if isinstance(space, spaces.Dict):
        return {key: images_of(part, count, seed + place) for place, (key, part) in enumerate(space.items())}
    if isinstance(space, spaces.Discrete):
        return rng.integers(space.n, size=count)
    each = (count, *[1] * len(space.shape))
    pattern = rng.random((count, *space.shape)) * rng.random(each) + 0.5 * rng.random(each)
    if space.dtype == np.uint8:
        return np.clip(255 * pattern, 0, 255).astype(np.uint8)
    return (pattern if space is UNIT else 10 * pattern - 5).astype(np.float32)


def make_model(algorithm, policy, seen, acts, options):
    import sb3_contrib
    import stable_baselines3

    kind = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    settings = {name: options[name] for name in SETTINGS if name in options}
    settings |= {} if algorithm in ("PPO", "A2C", "TRPO", "MaskablePPO", "RecurrentPPO") else {"buffer_size": 1}
    kwargs = {name: value for name, value in options.items() if name not in SETTINGS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(policy, Toy(seen, acts), seed=3, device="cpu", policy_kwargs=kwargs, **settings)
    sharpen(model, images_of(seen, 64, seed=9))
    return model


def last_layer(policy):
    for name in ("action_net", "q_net", "quantile_net", "actor"):
        if hasattr(policy, name):
            break
    part = getattr(policy, name)
    part = getattr(part, "mu" if name == "actor" else name, part)
    linear = [module for module in part.modules() if isinstance(module, torch.nn.Linear)]
    return linear[-1]


def sharpen(model, seen):
    """Gives every output the mean 0 and up to the standard deviation 1: those of a new network hardly differ."""
    layer, latent = last_layer(model.policy), []
    hook = layer.register_forward_pre_hook(lambda _, arguments: latent.append(arguments[0]))
    with torch.no_grad():
        model.policy.set_training_mode(False)
        model.predict(seen, deterministic=True)
        hook.remove()
        layer.weight /= (latent[0] @ layer.weight.T).std(dim=0).clip(min=0.1)[:, None]
        layer.bias.copy_(-(latent[0] @ layer.weight.T).mean(dim=0))


def saved(model, folder):
    model.save(folder / "model.zip")
    return str(folder / "model.zip")


@pytest.mark.parametrize("name", KINDS)
def test_a_network_of_images_acts_as_in_stable_baselines3(tmp_path, name):
    _, _, space, acts, _ = KINDS[name]
    model = make_model(*KINDS[name])
    path, seen = saved(model, tmp_path), images_of(space, LANES)
    rebuilt, loaded = (bound(Sb3Policy(path, trust=trust), space, acts, LANES) for trust in (False, True))
    ours, theirs = rebuilt.predict(seen)[0], model.predict(seen, deterministic=True)[0]
    assert len(np.unique(ours, axis=0)) > 2
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(ours, loaded.predict(seen)[0], atol=1e-5)
    if isinstance(acts, spaces.Discrete):
        # Logits are equal up to a constant.
        scores = [policy.differentiate(seen).outputs for policy in (rebuilt, loaded)]
        np.testing.assert_allclose(*(part - part[:, :1] for part in scores), atol=2e-5)


@pytest.mark.parametrize("name", ["PPO last", "DQN grey", "SAC dict", "TD3 cameras", "PPO rows"])
def test_actions_have_the_same_bits_in_any_number_of_lanes(tmp_path, name):
    _, _, space, acts, _ = KINDS[name]
    path, seen = saved(make_model(*KINDS[name]), tmp_path), images_of(space, 40)

    def answers(rows):
        part = {key: array[rows] for key, array in seen.items()} if isinstance(seen, dict) else seen[rows]
        return bound(Sb3Policy(path), space, acts, len(range(40)[rows])).differentiate(part).outputs

    together = answers(slice(0, 40))
    for lanes in (1, 7, 16):
        for start in (0, 3, 24):
            rows = slice(start, start + lanes)
            assert np.array_equal(answers(rows), together[rows])


@pytest.mark.parametrize("name", ["PPO floats", "PPO dict", "PPO dict first"])
def test_gradients_are_those_of_torch(tmp_path, name):
    _, _, space, acts, _ = KINDS[name]
    path, seen = saved(make_model(*KINDS[name]), tmp_path), images_of(space, 4)
    policies = [bound(Sb3Policy(path, trust=trust), space, acts, 4) for trust in (False, True)]
    ours, theirs = (policy.differentiate(seen).pull(np.ones((4, 2))) for policy in policies)
    # Bytes have no gradient.
    assert list(ours) == list(theirs) == ([""] if name == "PPO floats" else ["speed"])
    for key, slope in ours.items():
        assert slope.any()
        np.testing.assert_allclose(slope, theirs[key], atol=1e-4 * np.abs(slope).max())


def test_a_recurrent_network_of_images_keeps_its_memory(tmp_path):
    model = make_model("RecurrentPPO", "CnnLstmPolicy", LAST, BOX, {"lstm_hidden_size": 16})
    policy = bound(Sb3Policy(saved(model, tmp_path)), LAST, BOX, 3)
    state, memory = None, None
    for step in range(4):
        seen, first = images_of(LAST, 3, seed=step), np.array([step == 0, step in (0, 2), step == 0])
        ours, state = policy.predict(seen, state, first)
        theirs, memory = model.predict(seen, memory, first, deterministic=True)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_random_actions_spread_as_those_of_stable_baselines3(tmp_path):
    model = make_model(*KINDS["PPO last"])
    seen, lanes = images_of(LAST, 1), 2000
    policy = bound(Sb3Policy(saved(model, tmp_path)), LAST, CHOICE, lanes)
    chosen = policy.predict(np.repeat(seen, lanes, axis=0), deterministic=False)[0]
    with torch.no_grad():
        likely = model.policy.get_distribution(model.policy.obs_to_tensor(seen)[0]).distribution.probs[0].numpy()
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / lanes, likely, atol=0.04)


@pytest.mark.skipif(not [name for name in NAMES if "NoFrameskip" in name], reason="no trained agent has images")
@pytest.mark.parametrize("name", [name for name in NAMES if "NoFrameskip" in name] or [""])
def test_an_atari_agent_of_rl_zoo_acts_as_with_trust(name):
    policies = [ZooFolderPolicy(str(AGENTS / name), trust=trust) for trust in (False, True)]
    acts = read_checkpoint(next((AGENTS / name).glob("*.zip"))).action_space
    screen, state = spaces.Box(0, 255, (84, 84, 1), np.uint8), [None, None]
    for step in range(5):
        seen, first = images_of(screen, LANES, seed=step), np.full(LANES, step == 0)
        answers = [bound(p, screen, acts, LANES).predict(seen, s, first) for p, s in zip(policies, state, strict=True)]
        (ours, _), (theirs, _), state = *answers, [after for _, after in answers]
        assert np.array_equal(ours, theirs)


class MeanColour(Extractor):
    """The mean of every channel, times a weight: what a further extractor has to implement."""

    name = "my_code.MeanColour"

    def __init__(self, scale):
        self._scale = scale

    @classmethod
    def read(cls, tensors, shape):
        return cls(tensors["scale"]) if list(tensors) == ["scale"] else None

    @property
    def width(self):
        return len(self._scale)

    def apply(self, images):
        return images.mean(axis=(1, 2)) * self._scale


def test_a_further_extractor_is_one_class(monkeypatch):
    monkeypatch.setattr(extractors, "EXTRACTORS", (*extractors.EXTRACTORS, MeanColour))
    weights = {"features_extractor.scale": np.float32([1, 2, 3])}
    found = read_extractors(weights, FIRST, "my_code.MeanColour")[""]
    assert found.apply(np.ones((1, 4, 4, 3))).tolist() == [[1.0, 2.0, 3.0]]
    cnn = {f"features_extractor.{name}": array for name, array in tensors_of(FIRST.shape).items()}
    assert isinstance(read_extractors(cnn, FIRST, None)[""], NatureCnn)


# Unknown extractors


def extractor_class():
    """A class of features extractors with other layers than those of Stable-Baselines3."""
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class MyCNN(BaseFeaturesExtractor):
        def __init__(self, space):
            super().__init__(space, features_dim=16)
            self.cnn = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 5, 3), torch.nn.Flatten(), torch.nn.LazyLinear(16))
            self.cnn(torch.zeros(1, *space.shape))

        def forward(self, seen):
            return self.cnn(seen)

    return MyCNN


def refusal(path):
    with pytest.raises(UserError) as error:
        Sb3Policy(path)
    line = str(error.value)
    assert "\n" not in line
    assert line.endswith("; `policy.trust=true` loads it with Stable-Baselines3, which runs code from the file")
    return line


def test_an_extractor_of_another_class_is_one_line(tmp_path):
    from stable_baselines3 import PPO

    model = PPO("CnnPolicy", Toy(FIRST, BOX), policy_kwargs={"features_extractor_class": extractor_class()})
    assert "MyCNN'> is not known" in refusal(saved(model, tmp_path))


def test_other_tensors_are_one_line(tmp_path):
    from stable_baselines3 import PPO
    from stable_baselines3.common.policies import ActorCriticCnnPolicy

    # A policy class with another default, so that the file names no extractor.
    class Mine(ActorCriticCnnPolicy):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs, features_extractor_class=extractor_class())

    line = refusal(saved(PPO(Mine, Toy(FIRST, BOX)), tmp_path))
    assert "its features extractor is not known (`cnn.0.weight` has shape (4, 3, 5, 5))" in line


def tensors_of(shape, features=8):
    from stable_baselines3.common.torch_layers import NatureCNN

    network = NatureCNN(spaces.Box(0, 255, shape, np.uint8), features)
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def test_an_extractor_is_recognised_by_names_and_shapes():
    tensors, shape = tensors_of((3, SIZE, SIZE)), (3, SIZE, SIZE)
    assert NatureCnn.read(tensors, shape).width == 8
    assert NatureCnn.read(tensors, (3, 84, 84)) is None
    assert NatureCnn.read(tensors, (4, SIZE, SIZE)) is None
    assert NatureCnn.read(tensors, (3, 4, 4)) is None
    for name in tensors:
        assert NatureCnn.read({key: array for key, array in tensors.items() if key != name}, shape) is None
        assert NatureCnn.read(tensors | {name: tensors[name][..., None]}, shape) is None
        assert NatureCnn.read(tensors | {name: np.float32(0)}, shape) is None
    assert NatureCnn.read(tensors | {"cnn.6.weight": np.zeros(1)}, shape) is None


IMAGE = spaces.Box(0, 255, (3, SIZE, SIZE), np.uint8)
NUMBERS = spaces.Box(-1.0, 1.0, (4,))


@pytest.mark.parametrize("owner", ["", "pi_", "actor.", "q_net.", "quantile_net."])
def test_the_extractor_of_the_actor_is_read(owner):
    own = {f"{owner}features_extractor.{name}": array for name, array in tensors_of((3, SIZE, SIZE)).items()}
    other = {f"{name}features_extractor.cnn.0.weight": np.zeros((1, 1)) for name in ("critic.", "vf_", "q_net_target.")}
    assert read_extractors(other | own, IMAGE, None)[""].width == 8


def test_entries_without_tensors():
    entries = spaces.Dict({"camera": IMAGE, "speed": NUMBERS})
    assert read_extractors({}, NUMBERS, None) == {}
    assert isinstance(
        read_extractors({}, IMAGE, "stable_baselines3.common.torch_layers.FlattenExtractor")[""], FlatImage
    )
    assert list(read_extractors({}, entries, None)) == ["camera"]


@pytest.mark.parametrize(
    ("space", "tensor", "message"),
    [
        (NUMBERS, "features_extractor.linear.0.weight", r"`linear.0.weight` has shape \(2, 2\)"),
        (spaces.Dict(a=IMAGE), "features_extractor.extractors.b.linear.0.weight", r"`extractors.b.linear.0.weight`"),
        (spaces.Dict(a=IMAGE), "features_extractor.cnn.0.weight", "`cnn.0.weight`"),
        (spaces.Dict(a=NUMBERS), "actor.features_extractor.extractors.a.0.weight", "`0.weight`"),
    ],
)
def test_tensors_of_no_known_extractor(space, tensor, message):
    with pytest.raises(UserError, match=f"features extractor is not known.*{message}"):
        read_extractors({tensor: np.zeros((2, 2))}, space, None)
