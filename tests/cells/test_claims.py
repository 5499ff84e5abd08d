"""Claims: one process at a time has a folder, whoever died before."""

import json
import os
import subprocess
import sys
import time

import pytest

from brittlestar.cells import claims
from brittlestar.cells.claims import CLAIM, Claim, FolderInUseError


def test_a_claimed_folder_is_refused_with_its_holder(tmp_path):
    claim = Claim(tmp_path)
    with pytest.raises(FolderInUseError, match=rf"{tmp_path} is in use by process {os.getpid()} on .*remove .*{CLAIM}"):
        Claim(tmp_path)
    claim.release()
    Claim(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_the_claim_of_a_dead_process_does_not_hold(tmp_path):
    code = (
        "import os; from pathlib import Path; from brittlestar.cells.claims import Claim\n"
        f"Claim(Path({str(tmp_path)!r})); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / CLAIM).is_file()
    Claim(tmp_path).release()


def claimed_elsewhere(folder, age, **place):
    holder = {"host": "other", "boot": "b", "pids": "p", "pid": 1, "start": 5, "command": "x", "since": time.time()}
    (folder / CLAIM).write_text(json.dumps(holder | place))
    os.utime(folder / CLAIM, (time.time() - age,) * 2)


def test_a_claim_of_another_host_holds_while_it_is_renewed(tmp_path):
    claimed_elsewhere(tmp_path, age=100)
    with pytest.raises(FolderInUseError, match="process 1 on other"):
        Claim(tmp_path)
    claimed_elsewhere(tmp_path, age=400)
    Claim(tmp_path).release()


def test_the_process_id_of_another_container_says_nothing(tmp_path):
    claimed_elsewhere(tmp_path, age=0, **claims._place() | {"pids": "pid:[1]"}, pid=2**22 - 1)
    with pytest.raises(FolderInUseError):
        Claim(tmp_path)


def test_a_process_of_another_container_holds_its_claim_until_it_dies(tmp_path):
    code = (
        "import time; from pathlib import Path; from brittlestar.cells.claims import Claim\n"
        f"Claim(Path({str(tmp_path)!r})); print('got it', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "got it\n"
    # As if its process ids were those of another container.
    path = tmp_path / CLAIM
    with open(path, "r+") as file:
        file.write(json.dumps(json.loads(path.read_text()) | {"pids": "pid:[1]", "pid": 1}).ljust(path.stat().st_size))
    with pytest.raises(FolderInUseError):
        Claim(tmp_path)
    process.kill()
    process.communicate()
    Claim(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_while_a_claim_is_written_leaves_none(tmp_path, monkeypatch):
    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(claims, "take_lock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Claim(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_later_process_with_the_same_id_is_another_one(tmp_path):
    claimed_elsewhere(tmp_path, age=0, **claims._identity(os.getpid()) | {"start": 1})
    Claim(tmp_path).release()


def test_a_claim_that_was_never_filled_holds_for_a_moment(tmp_path):
    (tmp_path / CLAIM).touch()
    with pytest.raises(FolderInUseError):
        Claim(tmp_path)
    os.utime(tmp_path / CLAIM, (time.time() - 60,) * 2)
    Claim(tmp_path).release()


def test_of_many_processes_one_gets_the_folder(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from brittlestar.cells.claims import *\n"
        "try: Claim(Path(sys.argv[1])); print('got it', flush=True); time.sleep(30)\n"
        "except FolderInUseError: pass"
    )
    claimed_elsewhere(tmp_path, age=400)
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    deadline = time.monotonic() + 60
    while sum(process.poll() is None for process in processes) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = [process for process in processes if process.poll() is None]
    assert len(alive) == 1
    for process in processes:
        process.kill()
        process.communicate()
