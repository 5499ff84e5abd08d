import warnings

import numpy as np
import pytest
from gymnasium import spaces
from samples import draws_at

from brittlestar.errors import UserError
from brittlestar.policies.exported import CleanRlPolicy, OnnxPolicy, TorchScriptPolicy

torch = pytest.importorskip("torch")
nn = torch.nn
SEEN = spaces.Box(-np.inf, np.inf, (5,), np.float32)
ACTS = spaces.Box(-2.0, 3.0, (2,), np.float32)


def bound(policy, acts=ACTS, lanes=8):
    policy.bind(SEEN, acts, draws_at(lanes=lanes))
    return policy


def seen(lanes=8):
    return np.random.default_rng(0).standard_normal((lanes, 5)).astype(np.float32)


def mlp(outputs, activation=nn.Tanh):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), activation(), nn.Linear(8, 8), activation(), nn.Linear(8, outputs))


def answers(network):
    with torch.no_grad():
        return network(torch.from_numpy(seen())).numpy()


def save(tmp_path, **modules):
    state = {f"{name}.{key}": value for name, m in modules.items() for key, value in m.state_dict().items()}
    return state, tmp_path / "actor.pth"


def test_cleanrl_ppo_in_a_box(tmp_path):
    network = mlp(2)
    state, file = save(tmp_path, actor_mean=network, critic=mlp(1))
    torch.save(state | {"actor_logstd": torch.log(torch.tensor([[0.5, 0.1]]))}, file)
    policy = bound(CleanRlPolicy(str(file)))
    np.testing.assert_allclose(policy.predict(seen())[0], np.clip(answers(network), ACTS.low, ACTS.high), atol=1e-6)
    many = bound(CleanRlPolicy(str(file)), lanes=5000).predict(np.zeros((5000, 5)), deterministic=False)[0]
    np.testing.assert_allclose(many.std(axis=0), [0.5, 0.1], rtol=0.05)


def test_cleanrl_choices(tmp_path):
    for name, activation in (("actor", nn.Tanh), ("network", nn.ReLU)):
        network = mlp(3, activation)
        state, file = save(tmp_path, **{name: network})
        torch.save(state, file)
        policy = bound(CleanRlPolicy(str(file)), spaces.Discrete(3))
        assert policy.predict(seen())[0].tolist() == answers(network).argmax(axis=1).tolist()


@pytest.mark.parametrize("last", ["fc_mean", "fc_mu"])
def test_cleanrl_sac_and_td3(tmp_path, last):
    torch.manual_seed(0)
    parts = {"fc1": nn.Linear(5, 8), "fc2": nn.Linear(8, 8), last: nn.Linear(8, 2)}
    parts |= {"fc_logstd": nn.Linear(8, 2)} if last == "fc_mean" else {}
    state, file = save(tmp_path, **parts)
    torch.save(state, file)
    network = nn.Sequential(parts["fc1"], nn.ReLU(), parts["fc2"], nn.ReLU(), parts[last], nn.Tanh())
    policy = bound(CleanRlPolicy(str(file)))
    expected = answers(network) * 2.5 + 0.5
    np.testing.assert_allclose(policy.predict(seen())[0], expected, atol=1e-5)
    drawn = policy.predict(seen(), deterministic=False)[0]
    assert np.allclose(drawn, expected, atol=1e-5) == (last == "fc_mu")


def test_cleanrl_files_of_other_kinds_are_refused(tmp_path):
    torch.save(nn.Conv2d(1, 1, 3).state_dict(), tmp_path / "conv.pth")
    with pytest.raises(UserError, match="convolutions"):
        CleanRlPolicy(str(tmp_path / "conv.pth"))
    torch.save({"encoder.weight": torch.zeros(2, 2)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match=r"not the actor of a CleanRL script: it has encoder.weight"):
        CleanRlPolicy(str(tmp_path / "other.pth"))
    with pytest.raises(UserError, match=r"did you mean `conv.pth`"):
        CleanRlPolicy(str(tmp_path / "cnov.pth"))


def test_torchscript(tmp_path):
    network = mlp(2)
    file = tmp_path / "actor.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(network, torch.zeros(1, 5)).save(str(file))
    policy = bound(TorchScriptPolicy(str(file)))
    together = policy.predict(seen())[0]
    np.testing.assert_allclose(together, np.clip(answers(network), ACTS.low, ACTS.high), atol=1e-6)
    assert np.array_equal(bound(policy, lanes=1).predict(seen()[3:4])[0], together[3:4])
    choices = bound(policy, spaces.Discrete(2, start=5)).predict(seen())[0]
    assert choices.tolist() == answers(network).argmax(axis=1).tolist()
    assert "`start` of Discrete(2, start=5) is not added" in policy.notes[0]
    (tmp_path / "broken.pt").write_bytes(b"nothing")
    with pytest.raises(UserError, match="is not a TorchScript file"):
        bound(TorchScriptPolicy(str(tmp_path / "broken.pt")))
    (tmp_path / "broken.pt").write_bytes(file.read_bytes()[:-600])
    with pytest.raises(UserError, match="broken.pt cannot be read: it is truncated"):
        bound(TorchScriptPolicy(str(tmp_path / "broken.pt")))


def script(folder, network, name="actor.pt"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(network, torch.zeros(1, 5)).save(str(folder / name))
    return str(folder / name)


def test_outputs_that_look_normalised_get_a_note_and_an_option(tmp_path):
    network = nn.Sequential(mlp(2), nn.Tanh())
    path, raw = script(tmp_path, network), answers(network)
    policy = bound(TorchScriptPolicy(path))
    assert policy.notes == []
    np.testing.assert_allclose(policy.predict(seen())[0], raw, atol=1e-6)
    (note,) = policy.notes
    assert "all outputs were in [-1, 1], the environment takes actions in [-2, 3]: set `policy.outputs=unit`" in note
    for outputs, expected in (("unit", 0.5 + 2.5 * raw), ("env", raw)):
        policy = bound(TorchScriptPolicy(path, outputs))
        np.testing.assert_allclose(policy.predict(seen())[0], expected, atol=1e-5)
        np.testing.assert_allclose(policy.differentiate(seen()).outputs, expected, atol=1e-5)
        assert policy.notes == []
    with pytest.raises(UserError, match="`outputs` cannot be 'unity'; did you mean `unit`"):
        TorchScriptPolicy(path, "unity")
    with pytest.raises(UserError, match=r"`policy.outputs` is for actions in a Box, got Discrete\(2\)"):
        bound(TorchScriptPolicy(path, "unit"), spaces.Discrete(2))
    with pytest.raises(UserError, match=r"`policy.outputs=unit` needs bounds, actions are in \[-inf, inf\]"):
        bound(TorchScriptPolicy(path, "unit"), spaces.Box(-np.inf, np.inf, (2,)))


@pytest.mark.parametrize(
    ("high", "scale", "has_note"),
    [(1.0, 1.0, False), (0.4, 0.4, False), (0.4, 1.0, True), (2.0, 1.0, True), (2.0, 4.0, False), (np.inf, 1.0, False)],
)
def test_only_suspicious_ranges_get_a_note(tmp_path, high, scale, has_note):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 2), nn.Hardtanh(-0.9 * scale, 0.9 * scale))
    network[0].weight.data *= 10
    policy = bound(TorchScriptPolicy(script(tmp_path, network)), spaces.Box(-high, high, (2,), np.float32))
    policy.predict(seen())
    assert bool(policy.notes) == has_note


def test_several_choices_are_scored_part_by_part(tmp_path):
    network = mlp(5)
    policy = TorchScriptPolicy(script(tmp_path, network))
    first, second = np.split(answers(network), [3], axis=1)
    expected = np.stack([first.argmax(axis=1), second.argmax(axis=1)], axis=1)
    assert np.array_equal(bound(policy, spaces.MultiDiscrete([3, 2])).predict(seen())[0], expected)
    with pytest.raises(UserError, match=r"gives 5 logits, but actions are Discrete\(4\)"):
        bound(policy, spaces.Discrete(4)).predict(seen())


def test_a_network_that_does_not_fit_is_one_line(tmp_path):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = mlp(2)

        def forward(self, x):
            return self.network(x), x

    path = script(tmp_path, Both())
    np.testing.assert_allclose(
        bound(TorchScriptPolicy(path)).predict(seen())[0], np.clip(answers(mlp(2)), -2, 3), atol=1e-6
    )
    with pytest.raises(UserError, match=r"gives 2 numbers, actions are Box\(3,\)"):
        bound(TorchScriptPolicy(path), spaces.Box(-1.0, 1.0, (3,))).predict(seen())
    policy = TorchScriptPolicy(path)
    policy.bind(spaces.Box(-1.0, 1.0, (4,)), ACTS, draws_at(lanes=8))
    with pytest.raises(UserError, match=r"actor.pt cannot take 4 numbers of Box\(4,\): \S+"):
        policy.predict(seen()[:, :4])


def test_bounds_in_a_cleanrl_file_are_those_of_its_training(tmp_path):
    torch.manual_seed(0)
    parts = {"fc1": nn.Linear(5, 8), "fc2": nn.Linear(8, 8), "fc_mu": nn.Linear(8, 2)}
    state, file = save(tmp_path, **parts)
    network = nn.Sequential(parts["fc1"], nn.ReLU(), parts["fc2"], nn.ReLU(), parts["fc_mu"], nn.Tanh())
    for scale, outputs in ((2.5, None), (1.0, None), (0.4, None), (0.4, "unit"), (0.4, "env")):
        bias = 0.5 if scale == 2.5 else 0.0
        torch.save(state | {"action_scale": torch.full((1, 2), scale), "action_bias": torch.full((2,), bias)}, file)
        policy = CleanRlPolicy(str(file), outputs)
        if scale == 0.4 and outputs is None:
            with pytest.raises(
                UserError, match=r"trained with actions in \[-0.4, 0.4\], those of the environment are in \[-2, 3\]"
            ):
                bound(policy)
            continue
        raw = answers(network)
        expected = scale * raw if outputs == "env" else 0.5 + 2.5 * raw
        np.testing.assert_allclose(bound(policy).predict(seen())[0], expected, atol=1e-5)
        assert bool(policy.notes) == (scale == 1.0)
    torch.save(state, file)
    with pytest.raises(UserError, match="`policy.outputs` needs the bounds of the training"):
        CleanRlPolicy(str(file), "unit")


def test_onnx(tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install brittlestar[onnx]")
    onnx = pytest.importorskip("onnx", reason="needs onnx to write the file")
    weights = np.arange(10, dtype=np.float32).reshape(5, 2) / 10
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "actor",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 5])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 2])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "actor.onnx")
    policy = bound(OnnxPolicy(str(tmp_path / "actor.onnx")))
    np.testing.assert_allclose(policy.predict(seen())[0], np.clip(seen() @ weights, -2, 3), atol=1e-6)
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(UserError, match="is not an ONNX file"):
        bound(OnnxPolicy(str(tmp_path / "broken.onnx")))
