"""Workers: forked from a process that has imported the engine; one that dies or hangs costs its task only."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest

from brittlestar.cells.files import write_file
from brittlestar.cells.job import Job
from brittlestar.sweeps import workers
from brittlestar.sweeps.fork_server import start_fork_server
from brittlestar.sweeps.workers import Death, Worker, pool


@pytest.fixture(autouse=True)
def ended():
    yield
    workers.stop()


def imported(name: str) -> bool:
    return name in sys.modules


def square(task: int) -> int:
    if task < 0:
        os.kill(os.getpid(), -task)
    if task == 99:
        os._exit(3)
    if task == 98:
        time.sleep(600)
    return task * task


def fork(task: int) -> int:
    copy = os.fork() == 0
    time.sleep(0.1 + 0.2 * copy)
    return -1 if copy else task


def die_once(folder: str) -> str:
    path = Path(folder) / "died"
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def write_to_a_busy_disk(path: str) -> None:
    def wait(file):
        # As in an fsync: the process receives its signals when the disk has answered.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        file.write(b"half")
        time.sleep(3)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    write_file(Path(path), wait)


def test_outcomes_of_all_jobs_come_back():
    jobs = [Job({"episode": 1, "perturbation": {}}, number=number) for number in range(2)]
    outcomes = list(workers.run_on_workers(jobs, 2))
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert sorted(outcome.number for outcome in outcomes) == [0, 1]


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a process to fork from")
def test_workers_are_forked_from_the_process_that_imported_the_engine():
    ((_, result),) = pool(1).run(imported, ["brittlestar.sweeps.preload"])
    assert result is True


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a process to fork from")
def test_a_worker_starts_while_the_process_that_forks_is_killed():
    start_fork_server()
    server = forkserver._forkserver._forkserver_pid
    # It takes the request, and is killed before it answers.
    os.kill(server, signal.SIGSTOP)
    threading.Timer(0.5, os.kill, (server, signal.SIGKILL)).start()
    assert dict(pool(1).run(square, [3])) == {3: 9}


@pytest.mark.parametrize("call", ["end", "define_a_class"])
def test_a_signal_while_a_worker_starts_ends_it_without_a_traceback(call):
    # The first call of a worker after its handler is in place.
    code = f"""
import multiprocessing, os, signal
from brittlestar.sweeps import worker_process
class Ending:
    def __set_name__(self, owner, name):
        end()
def end():
    os.kill(os.getpid(), signal.SIGTERM)
def define_a_class():
    type("Owner", (), {{"name": Ending()}})
multiprocessing.parent_process = {call}
worker_process.serve_tasks(None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


def test_workers_remain_for_the_next_tasks():
    assert dict(pool(2).run(square, [1, 2, 3])) == {1: 1, 2: 4, 3: 9}
    before = {worker.process.pid for worker in pool(2).workers}
    assert dict(pool(2).run(square, [4, 5])) == {4: 16, 5: 25}
    assert {worker.process.pid for worker in pool(2).workers} == before


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (-signal.SIGSEGV, "its process was ended by SIGSEGV (Segmentation fault)"),
        (-signal.SIGKILL, "its process was ended by SIGKILL (Killed)"),
        (-signal.SIGTERM, "its process was ended by SIGTERM (Terminated)"),
        (99, "its process ended with exit code 3 in the middle of the cell"),
    ],
)
def test_a_dying_worker_costs_its_task_only(task, reason):
    results = dict(pool(2).run(square, [task, *range(6)]))
    assert results == {task: Death(reason), **{number: number**2 for number in range(6)}}


def test_a_task_whose_worker_was_killed_by_chance_gets_a_second_try(tmp_path):
    assert list(pool(2).run(die_once, [str(tmp_path)])) == [(str(tmp_path), "survived")]


def test_a_copy_of_a_worker_by_a_fork_ends_with_its_task():
    assert list(pool(1).run(fork, [1, 2, 3])) == [(1, 1), (2, 2), (3, 3)]


def test_a_hanging_task_is_ended():
    results = dict(pool(2).run(square, [98, 2, 3], minutes=0.02))
    assert results == {98: Death("it ran for longer than `timeout_minutes=0.02`", True), 2: 4, 3: 9}


def test_a_timeout_of_months_is_possible():
    assert dict(pool(1).run(square, [2], minutes=100_000)) == {2: 4}


def test_stopped_workers_are_gone():
    list(pool(2).run(square, [1, 2]))
    processes = [worker.process for worker in pool(2).workers]
    workers.stop()
    assert all(process.exitcode is not None for process in processes)


def test_an_error_of_the_caller_leaves_no_task_behind():
    results = pool(2).run(square, [98, 1, 2])
    next(results)
    results.close()
    assert dict(pool(2).run(square, [7])) == {7: 49}


def test_a_worker_that_waits_for_the_disk_removes_what_it_has_half_written(tmp_path):
    worker = Worker()
    worker.give(write_to_a_busy_disk, str(tmp_path / "cell"))
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    worker.end()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_a_program_that_ends_while_a_worker_starts_prints_nothing(seconds):
    script = (
        "import threading, time\n"
        "from brittlestar.sweeps.workers import Worker\n"
        "threading.Thread(target=Worker, kwargs={'daemon': True}, daemon=True).start()\n"
        f"time.sleep({seconds})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
