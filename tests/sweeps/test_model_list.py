"""`models=FILE`: a list of policies becomes one sweep and one table."""

import io
import warnings

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.sweeps.model_list import check_file, read_models

OPTIONS = {
    "sb3": ["_target_", "path", "statistics", "recorded"],
    "zoo_folder": ["_target_", "path", "adapter"],
    "random": ["_target_"],
    "callable": ["_target_", "path", "kwargs"],
    "onnx": ["_target_", "path"],
    "mine": None,
}
LIST = """
- agents/ppo/CartPole-v1_1
- path: agents/a2c/Pendulum-v1_1/Pendulum-v1.zip
  name: it's "a2c", swinging
  policy: sb3
  env: pendulum
  recorded: 9000
  env.max_steps: 20
- {policy: random, env: cartpole}
- {path: agents/ppo/CartPole-v1_1/CartPole-v1.zip, name: was better, recorded: 9000}
"""


@pytest.fixture(scope="module")
def saved():
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    files = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, env in (("PPO", "CartPole-v1"), ("A2C", "Pendulum-v1")):
            file = io.BytesIO()
            getattr(stable_baselines3, name)("MlpPolicy", env, seed=0, device="cpu").save(file)
            files[f"agents/{name.lower()}/{env}_1/{env}.zip"] = file.getvalue()
    return files


@pytest.fixture
def lists(shell, saved):
    """Two agents of different environments, and a list in a folder of its own."""
    for name, content in saved.items():
        place = shell.folder / "lists" / name
        place.parent.mkdir(parents=True)
        place.write_bytes(content)
    (shell.folder / "lists/models.yaml").write_text(LIST)
    return shell.folder / "lists"


def read(folder, text):
    (folder / "models.yaml").write_text(text)
    return read_models(str(folder / "models.yaml"), OPTIONS)


@pytest.mark.slow
def test_one_table_compares_models_of_different_environments(shell, lists):
    ask = ("models=lists/models.yaml", "perturbation.sigma=0,0.5", "seed=0,1", "episodes=3")
    done, folder = shell.sweep(*ask)
    names = {"agents/ppo/CartPole-v1_1": "CartPole-v1", 'it\'s "a2c", swinging': "pendulum", "random": "cartpole"}
    names["was better"] = "CartPole-v1"
    for table, count in (("curve", 8), ("cells", 16), ("episodes", 48), ("summary", 4)):
        rows = shell.table("sweep", table)
        assert len(rows) == count
        assert {row["model"]: row["env"] for row in rows} == names
    assert {row["model"]: row["policy"] for row in rows} == dict(
        zip(names, ("zoo_folder", "sb3", "random", "sb3"), strict=True)
    )
    # The name replaces the settings.
    assert not any(key.startswith(("policy.", "env.")) for key in rows[0])
    assert {row["length"] for row in shell.table("sweep", "cells") if row["env"] == "pendulum"} == {20}
    report = (folder / "report.md").read_text()
    assert all(name in text for name in names for text in (report, done.stdout))
    assert "model = was better, baseline mismatch: recorded 9000" in report.partition("![curve]")[0]
    # The recorded return is not one of twenty steps.
    checked = {row["model"]: row.get("baseline_check") for row in rows}
    assert checked['it\'s "a2c", swinging'] == "time limit differs"
    shell.sweep(*ask, "hydra/launcher=joblib", "hydra.launcher.n_jobs=1", name="joblib")
    for table in ("curve", "summary"):
        assert shell.table("joblib", table) == shell.table("sweep", table)


@pytest.mark.slow
def test_a_model_of_a_list_is_the_same_cell_as_its_policy_alone(shell, lists):
    shell("policy=zoo_folder", "policy.path=lists/agents/ppo/CartPole-v1_1", "env=auto", "episodes=3")
    (lists / "one.yaml").write_text("- {path: agents/ppo/CartPole-v1_1, name: mine}\n")
    done, _ = shell.sweep("models=lists/one.yaml", "episodes=3")
    assert "0 done, 0 failed, 1 cached" in done.stderr
    assert shell.table("sweep", "curve")[0]["model"] == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["models=lists/model.yaml"], "did you mean `models.yaml`?"),
        (["models=lists/models.yaml", "policy=random"], "`policy=random` and `models` contradict each other"),
        (["models=lists/models.yaml,lists/models.yaml"], "`models` takes one file"),
        (["models=[]"], "`models` takes one file, a yaml list of policies: `models=my_models.yaml`"),
        (["models="], "`models=` names no file: `models=my_models.yaml`"),
        (["models=lists"], "`models`: lists is a folder, not a yaml list of policies"),
        (["experiment=masking", "models=lists/gone.yaml"], "entry 2 of lists/gone.yaml: there is no lists/gone.zip"),
        (["experiment=smoke_models", "models=lists/models.yaml", "policy=random"], "contradict each other"),
        (["experiment=smoke_models", "models=lists/key.yaml"], "`statistcs` does not exist for `policy: sb3`"),
        (["models=lists/bad.yaml"], "entry 1 of lists/bad.yaml: `policy: sb33` does not exist; did you mean `sb3`?"),
        (["models=lists/env.yaml"], "`env=cartpol` does not exist; did you mean `cartpole`?"),
        (["models=lists/key.yaml"], "`statistcs` does not exist for `policy: sb3`; did you mean `statistics`?"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(shell, lists, words, message):
    zipped = "path: agents/ppo/CartPole-v1_1/CartPole-v1.zip"
    (lists / "bad.yaml").write_text(f"- {{{zipped}, policy: sb33}}")
    (lists / "gone.yaml").write_text("- agents/ppo/CartPole-v1_1\n- gone.zip\n")
    (lists / "env.yaml").write_text(f"- {{{zipped}, env: cartpol}}")
    (lists / "key.yaml").write_text(f"- {{{zipped}, statistcs: none}}")
    done = shell("-m", *words, "episodes=2", check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (shell.folder / "outputs").exists()


def test_a_list_without_a_sweep_is_refused(shell, lists):
    done = shell("models=lists/models.yaml", "episodes=2", check=False)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (1, 1)
    assert "is a sweep: add `-m`" in done.stderr


@pytest.mark.parametrize(
    ("path", "option"),
    [
        ("agent", "zoo_folder"),
        ("agent/a.zip", "sb3"),
        ("agent/a.onnx", "onnx"),
        ("hub:sb3/ppo-CartPole-v1", "sb3"),
        ("hub:me/agents/a.onnx", "onnx"),
    ],
)
def test_the_path_implies_the_option(tmp_path, path, option):
    (tmp_path / "agent").mkdir()
    for name in ("a.zip", "a.onnx"):
        (tmp_path / "agent" / name).touch()
    (model,) = read(tmp_path, f"- {path}")
    assert model["policy"] == f"policy={option}"
    assert model["policy.path"] == f"policy.path='{path if 'hub:' in path else tmp_path / path}'"
    assert "env" not in model


def test_paths_are_relative_to_the_list_then_to_the_current_folder(tmp_path, monkeypatch):
    for folder in ("list", "here"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "both.zip").touch()
    (tmp_path / "here/only.zip").touch()
    monkeypatch.chdir(tmp_path / "here")
    both, only = read(tmp_path / "list", "[both.zip, only.zip]")
    assert both["policy.path"] == f"policy.path='{tmp_path}/list/both.zip'"
    assert only["policy.path"] == "policy.path='only.zip'"


def test_settings_are_overrides(tmp_path):
    (model,) = read(tmp_path, "- {path: 'm:f', policy: callable, kwargs: {a: [1, x], b: {c: null}}, env.id: Foo-v1}")
    assert model["policy.kwargs.a"] == "++policy.kwargs.a=[1,'x']"
    assert model["policy.kwargs.b.c"] == "++policy.kwargs.b.c=null"
    assert (model["policy.path"], model["env.id"]) == ("policy.path='m:f'", "env.id='Foo-v1'")
    assert read(tmp_path, "- {policy: mine, whatever: true}")[0]["policy.whatever"] == "policy.whatever=true"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- [", "cannot be read as yaml"),
        ("", "must be a list of models .* got nothing"),
        ("path: a.zip", "must be a list of models .* got a dict"),
        ("- 3", "entry 1 of .*: `path` must be text, got 3"),
        ("- {pth: a.zip}", "entry 1 of .* has no `path`: `pth`, did you mean `path`?"),
        ("- {policy: sb3}", "`policy: sb3` needs a `path`"),
        ("- {policy: random, path: a.zip}", "`policy: random` takes no `path`"),
        ("- {path: a.zip, polcy: sb3}", "`polcy` does not exist for `policy: sb3`; did you mean `policy`?"),
        ("- b.zip", "there is no .*/b.zip; did you mean `a.zip`?"),
        ("- fodler/x/a.zip", "there is no .*/fodler/x/a.zip; did you mean `folder`?"),
        ("- notes.txt", "the kind of notes.txt is unknown, add `policy:`"),
        ("- a.zip\n- a.zip", "entry 2 of .* has the name of entry 1: give it another `name`"),
    ],
)
def test_a_mistake_in_a_list_is_named(tmp_path, text, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.zip").touch()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UserError, match=message):
        read(tmp_path, text)


def test_a_lenient_list_takes_files_that_are_missing_or_of_no_known_kind(tmp_path):
    (tmp_path / "notes.txt").touch()
    (tmp_path / "models.yaml").write_text("[b.zip, ppo/CartPole-v1_1, notes.txt, {path: b.pt, policy: onnx, name: c}]")
    models = read_models(str(tmp_path / "models.yaml"), OPTIONS, lenient=True)
    assert [model["policy"].removeprefix("policy=") for model in models] == ["sb3", "sb3", "sb3", "onnx"]
    assert models[0]["policy.path"] == f"policy.path='{tmp_path}/b.zip'"
    assert [model["model"] for model in models][1:] == ["model='ppo/CartPole-v1_1'", "model='notes.txt'", "model='c'"]


@pytest.mark.parametrize("path", [None, "hub:sb3/ppo-CartPole-v1", "module:attribute", "here.zip", "."])
def test_names_and_existing_files_are_accepted(tmp_path, monkeypatch, path):
    (tmp_path / "here.zip").touch()
    monkeypatch.chdir(tmp_path)
    check_file(path)


def test_a_missing_file_is_named_with_the_nearest_name(tmp_path, monkeypatch):
    (tmp_path / "here.zip").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="there is no her.zip; did you mean `here.zip`?"):
        check_file("her.zip")


def test_the_plot_names_a_model_that_is_alone_in_its_panel(make_cell, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    from brittlestar.reports.curve_plot import plot_curves
    from brittlestar.results.aggregate import aggregate

    panels = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: panels.__setitem__(slice(None), figure.axes))
    cells = [
        make_cell(
            [np.nan], strength=s, measure="return", choices={"env": name}, config={"model": name, "policy": {"p": i}}
        )
        for i, name in enumerate("ab")
        for s in (0, 1)
    ]
    cells += [make_cell([1.0], strength=s, config={"model": "c"}) for s in (0, 1)]
    tables = aggregate(cells)
    assert tables.grouping.columns == ["env", "policy", "perturbation", "model"]
    plot_curves(tables.curve, tables.grouping.columns, tmp_path / "curve")
    labels = sorted(line.get_label() for panel in panels for line in panel.get_lines())
    assert labels == ["a", "b", "c any step", "c final step"]
