import pytest

from brittlestar.reports.trackers.tensorboard import TensorBoardTracker

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_event_file_holds_numbers_config_and_pictures(sweep):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tracker = TensorBoardTracker()
    tracker.prepare()
    for _ in range(2):
        place = tracker.log(sweep)
    folder = sweep.folder / "tensorboard"
    assert place == f"{folder}: tensorboard --logdir {folder}"
    assert len(list(folder.iterdir())) == 1
    events = EventAccumulator(str(folder)).Reload()
    scalars = events.Scalars("cell/success_any")
    assert [event.step for event in scalars] == list(range(12))
    assert [event.value for event in scalars] == pytest.approx([cell["success_any"] for cell in sweep.cells])
    curve = events.Scalars("curve/runs.a.zip/success_final")
    assert [event.value for event in curve] == pytest.approx([1.0, 0.8, 0.1])
    assert events.Scalars("summary/_b_/success_final/auc")[0].value == pytest.approx(0.1025, abs=0.01)
    texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]}
    assert "| seed" in texts["config/text_summary"]
    assert texts["report.md/text_summary"] == "content of report.md"
    (image,) = events.Images("picture/curve")
    assert (image.width, image.height) == (20, 10)


def test_another_folder_gets_one_for_each_sweep(sweep, tmp_path):
    TensorBoardTracker(str(tmp_path / "runs")).log(sweep)
    assert len(list((tmp_path / "runs" / "my_sweep").glob("events*"))) == 1
