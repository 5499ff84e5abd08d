"""A real Ray of two nodes on one machine: two raylets in a network namespace that has the loopback only.

Each node has its own processes and its own mounts: it cannot see the driver's folder, nor the source of the checkout.

python tests/cluster/ray_bed.py COMMAND ...    # runs a command next to such a cluster; {address} is replaced
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD, WORKER = "127.0.0.2", "127.0.0.3"
ADDRESS = f"{HEAD}:26379"
COVERED = tuple(str(ROOT / name) for name in ("src", "conf", "outputs", "multirun"))
"""Folders of the checkout that the nodes do not see."""
SOURCE = str(ROOT / "src")
STORE_BYTES = 100_000_000


def missing() -> str:
    """Returns why this machine cannot run it; empty if it can."""
    if importlib.util.find_spec("ray") is None:
        return "Ray is not installed: `pip install brittlestar[ray]`"
    absent = [name for name in ("unshare", "nsenter", "ip", "mount") if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    if subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "a Ray for tests needs root, for network namespaces"
    return ""


class RayBed:
    """Two nodes; use it as a context manager. `covered` are more folders that they do not see."""

    def __init__(self, cpus: int = 1, covered: tuple[str, ...] = ()) -> None:
        self.cpus, self.covered = cpus, (*COVERED, *_installed_package(), *covered)
        # The paths of sockets have at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="ray-bed-", dir="/tmp"))
        self.env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # As on a cluster of a lab: without the token, no process may connect.
        token = self.folder / "token"
        token.write_text(secrets.token_hex(32))
        self.env |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        self._nodes: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> RayBed:
        hold = "ip link set lo up && exec sleep infinity"
        self._network = subprocess.Popen(["unshare", "--net", "sh", "-c", hold])
        self.namespace = f"/proc/{self._network.pid}/ns/net"
        own = os.readlink("/proc/self/ns/net")
        try:
            wait_until(lambda: os.readlink(self.namespace) != own, "the network namespace is there")
            wait_until(lambda: b"LOOPBACK,UP" in self._run("ip", "link"), "the loopback is up")
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for address in list(self._nodes):
            self.kill_node(address)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._network.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def up(self) -> None:
        """Starts the nodes that do not run."""
        for address in (HEAD, WORKER):
            node = self._nodes.get(address)
            if node is None or node.poll() is not None:
                self.start_node(address)

    def start_node(self, address: str) -> None:
        """Starts one node, and waits until it runs."""
        temporary = self.folder / "ray"
        temporary.mkdir(exist_ok=True)
        covered = self.covered if address == HEAD else (*self.covered, str(temporary))
        mounts = [f"mount -t tmpfs none {shlex.quote(path)}" for path in _outermost(covered)]
        resources = ["--num-cpus", str(self.cpus), "--object-store-memory", str(STORE_BYTES)]
        place = ["--head", "--port=26379", "--include-dashboard=false", f"--temp-dir={temporary}"]
        if address != HEAD:
            place = [f"--address={ADDRESS}"]
        # `ray` itself may have a path of a virtual environment that moved.
        start = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block"]
        start = [*start, f"--node-ip-address={address}", *place, *resources]
        command = " && ".join([*mounts, f"exec {shlex.join(start)}"])
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        log = self.folder / f"{address}.log"
        with log.open("wb") as file:
            words = ["nsenter", f"--net={self.namespace}", *own, "sh", "-c", command]
            self._nodes[address] = subprocess.Popen(words, env=self.env, stdout=file, stderr=file, cwd="/")
        node = self._nodes[address]
        wait_until(lambda: b"Ray runtime started" in log.read_bytes() or node.poll() is not None, f"{address} runs")
        if node.poll() is not None:
            raise RuntimeError(f"the node {address} ended:\n{log.read_text()}")

    def kill_node(self, address: str) -> None:
        """Kills a node as a power cut does: all of its processes at once."""
        node = self._nodes.pop(address)
        node.kill()
        node.wait()

    def kill_raylet(self, address: str) -> None:
        """Kills the process of a node that starts workers; the others of the node end by themselves."""
        name = f"--node_ip_address={address}"
        for pid in self.processes():
            words = _words(pid)
            if words and words[0].endswith("/raylet") and name in words:
                os.kill(pid, signal.SIGKILL)
        self._nodes.pop(address).wait()

    def workers(self) -> list[int]:
        """Returns the ids of the processes that run tasks now."""
        return [pid for pid in self.processes() if _words(pid)[:1] == ["ray::_compute"]]

    def drivers(self) -> list[int]:
        """Returns the ids of the processes that connect sweeps to the cluster."""
        return [pid for pid in self.processes() if "brittlestar.sweeps.on_ray.gateway" in _words(pid)]

    def processes(self) -> list[int]:
        """Returns the ids of all processes in the network of the cluster."""
        network, pids = os.readlink(self.namespace), []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == network:
                    pids.append(int(entry.name))
        return pids

    def command(self, *words: str) -> list[str]:
        """Returns a command that runs next to the cluster; the id of its process is that of the program."""
        return ["nsenter", f"--net={self.namespace}", *words]

    def inside(self, address: str, folder: Path, *words: str) -> list[str]:
        """Returns a command that runs in the container of a node: it has the node's processes, and sees all folders."""
        program = f'umount {shlex.join(_outermost(self.covered))} && cd {shlex.quote(str(folder))} && exec "$@"'
        uncovered = ["unshare", "--mount", "sh", "-c", program, "sh"]
        return ["nsenter", f"--target={self._first_process(address)}", "--net", "--pid", "--mount", *uncovered, *words]

    def _first_process(self, address: str) -> int:
        """Returns the id of the process that is the first one in a node's container."""
        parent = self._nodes[address].pid
        return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])

    def _run(self, *words: str) -> bytes:
        return subprocess.run(self.command(*words), capture_output=True, check=False).stdout


def _installed_package() -> list[str]:
    """Returns the folder of the installed package, which may belong to another checkout: the nodes do not see it."""
    program = "import importlib.util as u; spec = u.find_spec('brittlestar'); print(spec.origin if spec else '')"
    command = [sys.executable, "-P", "-c", program]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    origin = subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, check=True).stdout.strip()
    return [str(Path(origin).parent)] if origin else []


def _outermost(covered: tuple[str, ...]) -> list[str]:
    """Returns the folders to cover: what is below a covered one is not there any more."""
    outer = [path for path in covered if not any(str(parent) in covered for parent in Path(path).parents)]
    return [path for path in outer if Path(path).is_dir()]


def _words(pid: int) -> list[str]:
    try:
        return [word for word in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").split(" ") if word]
    except OSError:
        return []


def wait_until(condition: Callable[[], object], text: str, seconds: float = 600) -> None:
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s: {text}")
        time.sleep(0.1)


def main() -> int:
    """Runs a command next to a cluster."""
    if reason := missing():
        print(reason, file=sys.stderr)
        return 1
    with RayBed() as bed:
        words = [word.replace("{address}", ADDRESS) for word in sys.argv[1:]]
        return subprocess.run(bed.command(*words), env=bed.env | {"PYTHONPATH": SOURCE}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
