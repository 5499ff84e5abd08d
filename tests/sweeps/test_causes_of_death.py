"""Which deaths are called "out of memory": those that the kernel counts in the control group of the workers."""

import pytest

from brittlestar.sweeps import causes_of_death
from brittlestar.sweeps.causes_of_death import count_oom_kills

V1 = "9:name=systemd:/\n4:cpu,memory:/job/step\n0::/\n"
V2 = "0::/user/session\n"


@pytest.mark.parametrize(
    ("own", "files", "count"),
    [
        (V1, {"memory/job/step/memory.oom_control": 3, "memory/memory.oom_control": 7}, 3),
        (V1, {"memory/memory.oom_control": 7}, 7),
        (V2, {"user/session/memory.events": 2, "memory.events": 7}, 2),
        (V2, {"user/memory.events": 5}, 5),
        ("0::/\n", {"memory.events": 4}, 4),
        ("0::/\n", {}, 9),
    ],
    ids=["version 1", "a container of version 1", "version 2", "the group above", "a container", "no group"],
)
def test_the_nearest_group_that_counts_is_asked(tmp_path, monkeypatch, own, files, count):
    (tmp_path / "cgroup").write_text(own)
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 9\n")
    for name, kills in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"oom 1\noom_kill {kills}\n")
    names = {"_OWN_GROUPS": "cgroup", "_GROUPS": "groups", "_MACHINE": "vmstat"}
    for constant, name in names.items():
        monkeypatch.setattr(causes_of_death, constant, tmp_path / name)
    assert count_oom_kills() == count


def test_a_system_that_counts_nothing_has_no_kills(tmp_path, monkeypatch):
    for constant in ("_OWN_GROUPS", "_GROUPS", "_MACHINE"):
        monkeypatch.setattr(causes_of_death, constant, tmp_path / "none")
    assert count_oom_kills() == 0
