"""Cells of sweeps that have heat maps and sheets, and checks of their pictures."""

import itertools

import matplotlib.figure
import pytest
from matplotlib.text import Text


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is saved."""
    saved = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, path, **_: saved.append((figure, path)))
    return saved


@pytest.fixture
def grid_cells(make_cell):
    """Cells of one model over two strengths."""

    def make():
        return [
            make_cell(
                [k >= 20 * p * r for k in range(20)],
                strength=p,
                seed=seed,
                name="p",
                config={"perturbation": {"r": r}},
            )
            for p in (0.0, 0.5, 1.0)
            for r in (0.1, 0.4)
            for seed in (0, 1)
        ]

    return make


@pytest.fixture
def model_cells(make_cell):
    """Cells of the models of a list in one environment."""

    def make(env, returns, env_id=None):
        return [
            make_cell(
                [1, 0],
                strength=p,
                name="p",
                choices={"env": env},
                config={"model": name, "env": {"id": env_id or env}, "perturbation": {"kind": kind}},
                **{"return": value * (1 + p)},
            )
            for name, value in returns.items()
            for kind in ("channel", "random")
            for p in (0.0, 1.0)
        ]

    return make


@pytest.fixture
def long_named_cells(make_cell):
    """Cells of models with long names, each in an environment of its own."""

    def make(count):
        folder = "/home/user/checkpoints/rl-trained-agents"
        return [
            make_cell(
                [1, 0],
                strength=p,
                name="p",
                choices={"env": f"AnEnvironment{i}-v1", "policy": "zoo_folder"},
                config={
                    "model": f"{folder}/ppo/{'AVeryLongNameOfAnEnvironment' * (i % 3)}WithoutEnd-v{i}_1",
                    "perturbation": {"r": r},
                },
                **{"return": -12345.6 * (1 + p + r)},
            )
            for i in range(count)
            for p in (0.0, 0.25, 0.5, 0.75, 1.0)
            for r in (0.125, 0.25, 0.375, 0.5, 1.0)
        ]

    return make


def visible_texts(figure):
    """Texts that a reader sees: none of hidden panels, and no labels of ticks beyond the axis."""
    hidden = {text for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Text)}
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                hidden |= {tick.label1, tick.label2}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in hidden]


def find_faults(figure):
    """Lists the texts that overlap and those that leave the canvas."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in visible_texts(figure)]
    canvas = figure.bbox
    texts = [a for a, box in boxes if box.x0 < 1 or box.y0 < 1 or box.x1 > canvas.x1 or box.y1 > canvas.y1]
    for (a, one), (b, two) in itertools.combinations(boxes, 2):
        wide, high = min(one.x1, two.x1) - max(one.x0, two.x0), min(one.y1, two.y1) - max(one.y0, two.y0)
        texts += [f"{a!r} on {b!r}"] if wide > 0.5 and high > 0.5 else []
    return texts


@pytest.fixture
def layout_faults():
    return find_faults
