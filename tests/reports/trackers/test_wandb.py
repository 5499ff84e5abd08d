import json

import pytest

from brittlestar.errors import UserError
from brittlestar.reports.trackers.wandb import WandbTracker

needs_wandb = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('wandb')", reason="no W&B installed")


def read_records(data: bytes):
    """Yields the records of an offline run: a header of 7 bytes, then LevelDB's log in blocks of 32 kB."""
    place, parts = 7, b""
    while place + 7 <= len(data):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield parts
            parts = b""


def read_run(file):
    """Returns config, history and summary of an offline run."""
    from wandb.proto import wandb_internal_pb2

    config, history, summary = {}, [], {}
    for data in read_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        history += [items] if items else []
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
        for item in record.summary.update:
            summary[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    return config, history, summary


@needs_wandb
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_offline_run_holds_config_numbers_pictures_page_and_files(sweep, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    tracker = WandbTracker(mode="offline")
    tracker.prepare()
    place = tracker.log(sweep)
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    assert place == f"wandb sync {folder}"
    config, history, summary = read_run(next(folder.glob("*.wandb")))
    assert config["perturbation.sigma"] == [0, 0.1, 0.2]
    cells = [items for items in history if "cell/number" in items]
    assert [items["cell/success_any"] for items in cells] == [cell["success_any"] for cell in sweep.cells]
    points = [items for items in history if "curve/_b_/strength" in items]
    assert [(p["curve/_b_/strength"], p["curve/_b_/success_final"]) for p in points] == [(0, 1), (0.1, 0.5), (0.2, 0)]
    kinds = {key: value for items in history for key, value in items.items() if key.endswith("_type")}
    assert kinds == {"picture/curve/_type": "image-file", "report/_type": "html-file"}
    assert summary["summary/_b_/success_final/auc"] == sweep.summary["_b_/success_final/auc"]
    for path in sweep.files:
        assert (folder / "files" / path.relative_to(sweep.folder)).read_text() == path.read_text()
    assert capfd.readouterr().err == ""


@needs_wandb
@pytest.mark.filterwarnings("ignore")
def test_a_missing_login_is_named_before_the_sweep(tmp_path, monkeypatch):
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with pytest.raises(UserError, match=r"`tracker=wandb` has no login .*; or take `tracker.mode=offline`"):
        WandbTracker().prepare()


def test_a_wrong_mode_is_refused():
    with pytest.raises(UserError, match="`tracker.mode` must be null, online, offline or disabled, got ofline"):
        WandbTracker(mode="ofline")
