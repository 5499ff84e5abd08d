"""A real Slurm of two nodes with accounting, on one machine: everything is in one folder, on the loopback only.

python tests/cluster/slurm_bed.py up DIR      # prints the `export` line that makes sbatch, squeue, ... use it
python tests/cluster/slurm_bed.py down DIR    # ends the processes that it started, by their ids
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("munged", "mariadbd", "mariadb-install-db", "slurmdbd", "slurmctld", "slurmd", "sbatch", "sacctmgr")
NODES = ("n1", "n2")
SERVICES = ("munged", "mariadbd", "slurmdbd", "slurmctld", *NODES)
"""In the order of their start."""

SLURM_CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={slurmctld}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=10
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/pids/slurmctld
SlurmdPidFile={folder}/pids/%n
SlurmctldLogFile={folder}/logs/slurmctld.log
SlurmdLogFile={folder}/logs/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=20
SlurmctldTimeout=30
InactiveLimit=0
KillWait=3
OverTimeLimit=0
MinJobAge=60
MaxArraySize=1001
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={slurmdbd}
AccountingStoragePass={folder}/munge/socket
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs={cpus} RealMemory=2000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs={cpus} RealMemory=2000
PartitionName=work Nodes=n1,n2 Default=YES MaxTime=60 State=UP PriorityTier=1
PartitionName=urgent Nodes=n1,n2 MaxTime=60 State=UP PriorityTier=2 PreemptMode=OFF
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={slurmdbd}
SlurmUser=root
PidFile={folder}/pids/slurmdbd
LogFile={folder}/logs/slurmdbd.log
CommunicationParameters=NoInAddrAny
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""

CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"


def missing() -> str:
    """Returns why this machine cannot run it; empty if it can."""
    if os.geteuid() != 0:
        return "a Slurm for tests needs root"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)} (`make test-cluster` installs them)" if absent else ""


class SlurmBed:
    """The folder of one Slurm: its config, state, logs and process ids."""

    def __init__(self, folder: Path, cpus: int = 1) -> None:
        self.folder, self.cpus = folder.resolve(), cpus
        self.conf = self.folder / "slurm.conf"
        self._processes: dict[str, subprocess.Popen] = {}

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process that uses this Slurm."""
        return {**os.environ, "SLURM_CONF": str(self.conf), "MYSQL_UNIX_PORT": f"{self.folder}/mysql/socket"}

    def up(self) -> None:
        """Starts what does not run yet, and waits until both nodes are idle."""
        if not self.conf.exists():
            self._write()
        for name in SERVICES:
            if not self.is_running(name):
                self.start(name)
        self.wait_until(lambda: self.output("sinfo", "-h", "-o", "%T %D") == "idle 2", "both nodes are idle")

    def down(self) -> None:
        """Ends jobs, then all processes, the last started first."""
        if self.is_running("slurmctld"):
            subprocess.run(["scancel", "--user", "root"], env=self.env, check=False, capture_output=True)
            self.wait_until(lambda: not self.output("squeue", "-h"), "the queue is empty")
        for name in reversed(SERVICES):
            self.end(name)

    def start(self, name: str) -> None:
        """Starts one process, and waits until it answers."""
        start, is_ready = {
            "munged": (self._munged, self._socket("munge/socket")),
            "mariadbd": (self._mariadbd, self._socket("mysql/socket")),
            "slurmdbd": (lambda: self._daemon("slurmdbd"), self._port("slurmdbd")),
            "slurmctld": (self._slurmctld, self._port("slurmctld")),
        }.get(name, (lambda: self._daemon(name, "slurmd", "-N", name), self._port(name)))
        start()
        self.wait_until(is_ready, f"{name} answers")

    def end(self, name: str, number: int = signal.SIGTERM) -> None:
        """Ends one process by its id, and waits for its end."""
        pid = self.pid(name)
        if pid is None:
            return
        os.kill(pid, number)
        try:
            self.wait_until(lambda: self.pid(name) != pid, f"{name} ends", 20)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
        self._forget(name)

    def _forget(self, name: str) -> None:
        (self.folder / "pids" / name).unlink(missing_ok=True)
        if name in self._processes:
            self._processes.pop(name).wait()

    def kill_node(self, name: str) -> None:
        """Kills a node as a power cut does: slurmd, its job steps and every process of their jobs."""
        pids = [pid for pid in (self.pid(name), *_processes_of(name, self.folder)) if pid is not None]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in {*pids, *_processes_of(name, self.folder)}:
            os.kill(pid, signal.SIGKILL)
        self._forget(name)

    def workers(self) -> list[int]:
        """Returns the ids of the processes that compute cells in jobs: those that the fork server of a job started."""
        pids = [pid for node in NODES for pid in _processes_of(node, self.folder)]
        return sorted(pid for pid in pids if "multiprocessing.forkserver" in _words(_parent(pid)))

    def pid(self, name: str) -> int | None:
        """Returns the id of a process that runs."""
        file = self.folder / "pids" / name
        if not file.exists() or not (text := file.read_text().strip()):
            return None
        state = Path("/proc", text, "stat")
        # The file of a process that was killed remains, and its id may be another process's.
        is_ours = state.exists() and str(self.folder) in _words(int(text))
        return int(text) if is_ours and state.read_text().rpartition(")")[2].split()[0] != "Z" else None

    def is_running(self, name: str) -> bool:
        """Whether a process runs."""
        return self.pid(name) is not None

    def output(self, *words: str) -> str:
        """Returns what a Slurm command prints; empty if it fails."""
        result = subprocess.run(words, env=self.env, capture_output=True, text=True, check=False)
        return result.stdout.strip() if result.returncode == 0 else ""

    def wait_until(self, condition: Callable[[], object], text: str, seconds: float = 300) -> None:
        """Waits for a condition."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{text}: not within {seconds:g} s; see {self.folder}/logs")
            time.sleep(0.1)

    def _write(self) -> None:
        for name in ("munge", "mysql", "state", "spool", "pids", "logs", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # Clients connect to the socket of munge; the key is root's.
        (self.folder / "munge").chmod(0o711)
        (self.folder / "key").mkdir(mode=0o700, exist_ok=True)
        key = self.folder / "key" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        ports = _free_ports(("slurmctld", "slurmdbd", *NODES))
        values = {"folder": self.folder, "host": socket.gethostname().split(".")[0], "cpus": self.cpus, **ports}
        (self.folder / "ports").write_text("\n".join(f"{name} {port}" for name, port in ports.items()))
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        (self.folder / "slurmdbd.conf").write_text(SLURMDBD_CONF.format(**values))
        (self.folder / "slurmdbd.conf").chmod(0o600)
        self.conf.write_text(SLURM_CONF.format(**values))

    def _munged(self) -> None:
        places = {"key-file": "key/munge.key", "socket": "munge/socket", "pid-file": "pids/munged"}
        places |= {"log-file": "logs/munged.log", "seed-file": "munge/seed"}
        (self.folder / "munge" / "socket").unlink(missing_ok=True)
        self._call("munged", "--force", *(f"--{name}={self.folder}/{place}" for name, place in places.items()))

    def _mariadbd(self) -> None:
        data = f"--datadir={self.folder}/mysql/data"
        if not (self.folder / "mysql" / "data").exists():
            self._call(
                "mariadb-install-db", "--no-defaults", "--user=root", "--auth-root-authentication-method=normal", data
            )
        files = f"--socket={self.folder}/mysql/socket", f"--pid-file={self.folder}/pids/mariadbd"
        # Slurm wants a buffer pool that is larger than the default.
        sizes = "--innodb-buffer-pool-size=128M", "--innodb-lock-wait-timeout=900", "--max-allowed-packet=16M"
        self._daemon("mariadbd", "mariadbd", "--no-defaults", "--user=root", "--skip-networking", data, *files, *sizes)

    def _slurmctld(self) -> None:
        if "lab" not in self.output("sacctmgr", "-n", "show", "cluster"):
            self._call("sacctmgr", "-i", "add", "cluster", "lab")
            self._call("sacctmgr", "-i", "add", "account", "lab", "Cluster=lab")
            self._call("sacctmgr", "-i", "add", "user", "root", "Account=lab")
        self._daemon("slurmctld")

    def _daemon(self, name: str, *words: str) -> None:
        """Starts a process in the foreground form, so that its id is known and nothing of it is orphaned."""
        words = words or (name,)
        flags = () if name == "mariadbd" else ("-D",)
        if name in ("slurmctld", *NODES):
            # The path in its command line identifies the process.
            flags = (*flags, "-f", str(self.conf))
        with (self.folder / "logs" / f"{name}.out").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*words, *flags], env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        (self.folder / "pids" / name).write_text(f"{self._processes[name].pid}\n")

    def _call(self, *words: str) -> None:
        subprocess.run(words, env=self.env, check=True, stdout=subprocess.DEVNULL)

    def _socket(self, place: str) -> Callable[[], bool]:
        def connects() -> bool:
            with socket.socket(socket.AF_UNIX) as client:
                return client.connect_ex(str(self.folder / place)) == 0

        return connects

    def _port(self, name: str) -> Callable[[], bool]:
        ports = dict(line.split() for line in (self.folder / "ports").read_text().splitlines())

        def connects() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", int(ports[name]))) == 0

        return connects


def _free_ports(names: tuple[str, ...]) -> dict[str, int]:
    sockets = [socket.socket() for _ in names]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}
    for each in sockets:
        each.close()
    return ports


def _words(pid: int) -> str:
    """Returns the command line and the Slurm variables of a process."""
    try:
        texts = [Path("/proc", str(pid), name).read_bytes() for name in ("cmdline", "environ")]
    except OSError:
        return ""
    return b"\0".join(texts).replace(b"\0", b" ").decode(errors="replace")


def _processes_of(node: str, folder: Path) -> list[int]:
    """Returns the processes of a node's jobs: by their environment, and the steps by their parents."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and int(path.name) != os.getpid()]
    marks = f"SLURMD_NODENAME={node} ", f"SLURM_CONF={folder}/slurm.conf"
    steps = [pid for pid in pids if all(mark in f"{_words(pid)} " for mark in marks)]
    parents = {_parent(pid) for pid in steps}
    return [*steps, *(pid for pid in parents if "slurmstepd" in _words(pid))]


def _parent(pid: int) -> int:
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _main(verb: str, folder: str) -> None:
    bed = SlurmBed(Path(folder))
    if verb == "down":
        bed.down()
        return
    if reason := missing():
        sys.exit(reason)
    bed.up()
    print(f"export SLURM_CONF={bed.conf}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("up", "down"):
        sys.exit(__doc__)
    _main(*sys.argv[1:])
