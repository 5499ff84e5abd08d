"""Linear layers whose products oneDNN computes: on many processors twice as fast as MKL, which PyTorch uses for them.

PyTorch contains oneDNN, but has no public way to choose it for matrices of 32-bit floats. The private operator that its
compiler emits is tried out once; without it, or if it gives other numbers, the layers remain as they are.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

_FEWEST_PRODUCTS = 2**21
"""Products of a layer and a batch from which on oneDNN saves more than its call costs."""
_TOLERANCE = 1e-4
Multiply = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]


def speed_up(network: nn.Module) -> None:
    """Has oneDNN compute the linear layers of a network, and their gradients, in large batches.

    Example:
        >>> layer = nn.Linear(256, 256)
        >>> batch = torch.ones(256, 256)
        >>> before = layer(batch)
        >>> speed_up(layer)
        >>> torch.allclose(layer(batch), before, atol=1e-5)
        True
    """
    if _find_multiply() is None:
        return
    for layer in network.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = FastLinear


class FastLinear(nn.Linear):
    """A linear layer as PyTorch's, with the same weights, up to rounding."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Returns the outputs of a batch."""
        is_large = input.dim() == 2 and len(input) * self.weight.numel() >= _FEWEST_PRODUCTS
        if not is_large or input.dtype != torch.float32:
            return super().forward(input)
        return _Product.apply(input, self.weight, self.bias)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        ctx.save_for_backward(rows, weight)
        multiply = _find_multiply()
        assert multiply is not None
        return multiply(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        multiply, needed = _find_multiply(), ctx.needs_input_grad
        assert multiply is not None
        return (
            multiply(gradient, weight.t(), None) if needed[0] else None,
            multiply(gradient.t(), rows.t(), None) if needed[1] else None,
            gradient.sum(dim=0) if needed[2] else None,
        )


@functools.cache
def _find_multiply() -> Multiply | None:
    """Returns `rows @ weight.T + bias` of oneDNN; None where it is not available."""
    try:
        operator = torch.ops.mkldnn._linear_pointwise
        multiply = functools.partial(_call, operator)
        return multiply if torch.backends.mkldnn.is_available() and _agrees(multiply) else None
    except (AttributeError, RuntimeError, NotImplementedError):
        return None


def _call(operator: Any, rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return operator(rows, weight, bias, "none", [], "")


def _agrees(multiply: Multiply) -> bool:
    """Compares with PyTorch, also for transposed matrices, which gradients need."""
    rows, weight = (torch.linspace(-1, end, count * 32).reshape(count, 32) for end, count in ((1, 48), (2, 16)))
    bias, columns = torch.arange(16.0), torch.linspace(0, 1, 48 * 8).reshape(48, 8)
    pairs = [
        (multiply(rows, weight, bias), nn.functional.linear(rows, weight, bias)),
        (multiply(columns.t(), rows.t(), None), columns.t() @ rows),
    ]
    return all(torch.allclose(ours, theirs, atol=_TOLERANCE) for ours, theirs in pairs)
