import copy
import itertools

import pytest
import torch
from torch import nn

from brittlestar.training import fast_linear
from brittlestar.training.fast_linear import FastLinear, speed_up


def make(*sizes: int) -> nn.Module:
    torch.manual_seed(0)
    pairs = itertools.pairwise(sizes)
    return nn.Sequential(*[layer for pair in pairs for layer in (nn.Linear(*pair), nn.Tanh())])


def gradients(network: nn.Module, batch: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad((network(batch) ** 2).sum(), [batch, *network.parameters()]))


@pytest.mark.parametrize("rows", [1, 8, 256])
def test_outputs_and_gradients_are_those_of_pytorch(rows):
    plain = make(31, 256, 256, 4)
    fast = copy.deepcopy(plain)
    speed_up(fast)
    assert [type(layer) for layer in fast][::2] == [FastLinear] * 3
    batch = torch.randn(rows, 31, requires_grad=True)
    torch.testing.assert_close(fast(batch), plain(batch), atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(gradients(fast, batch), gradients(plain, batch), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-4)


def test_the_same_numbers_every_time():
    fast, batch = make(31, 256, 4), torch.randn(256, 31, requires_grad=True)
    speed_up(fast)
    first, second = gradients(fast, batch), gradients(fast, batch)
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))


def test_copies_and_saved_weights_are_those_of_a_common_network(tmp_path):
    fast = make(31, 256, 4)
    speed_up(fast)
    twin = copy.deepcopy(fast)
    with torch.no_grad():
        fast[0].weight.zero_()
    assert twin[0].weight.abs().sum() > 0
    torch.save(fast.state_dict(), tmp_path / "weights.pth")
    plain = make(31, 256, 4)
    plain.load_state_dict(torch.load(tmp_path / "weights.pth", weights_only=True))
    assert torch.equal(plain[0].weight, fast[0].weight)


def test_other_numbers_remain_with_pytorch():
    fast = make(31, 256, 4).double()
    speed_up(fast)
    assert fast(torch.randn(256, 31, dtype=torch.float64)).dtype == torch.float64
    assert fast(torch.randn(2, 256, 31, dtype=torch.float64)).shape == (2, 256, 4)


@pytest.mark.parametrize("wrong", [lambda *_: torch.zeros(1), lambda rows, weight, *_: rows @ weight.t() + 1])
def test_without_the_operator_or_with_another_one_layers_remain(monkeypatch, wrong):
    monkeypatch.setattr(fast_linear, "_call", lambda operator, *tensors: wrong(*tensors))
    fast_linear._find_multiply.cache_clear()
    try:
        network = make(31, 256, 4)
        speed_up(network)
        assert type(network[0]) is nn.Linear
    finally:
        fast_linear._find_multiply.cache_clear()
