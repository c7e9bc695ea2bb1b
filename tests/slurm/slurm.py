"""A SLURM of one node on loopback, in a folder of its own, without systemd and cgroups: for tests.

``python tests/slurm/slurm.py COMMAND...`` runs a command with ``SLURM_CONF`` set and then stops everything; `slurm` is
that for a ``with``. Nothing of the system's own configuration is read or changed.
"""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo")
PATIENCE = 30.0
"""Seconds until the node must be idle."""

CONFIGURATION = """
ClusterName=localax
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=tests Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""


class NoSlurm(RuntimeError):
    """Why there is no SLURM here."""


@contextlib.contextmanager
def slurm() -> Iterator[dict[str, str]]:
    """The environment in which ``sbatch`` and its like find a SLURM, for as long as the block lasts."""
    missing = [program for program in PROGRAMS if _found(program) is None]
    if missing:
        raise NoSlurm(f"not installed: {', '.join(missing)}")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        _configure(folder)
        environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        for command in _daemons(folder):
            stack.enter_context(_running(command, folder, environment))
        _wait_until_idle(folder, environment)
        yield environment


def _found(program: str) -> str | None:
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def _configure(folder: Path) -> None:
    folder.chmod(0o755)  # munged asks for it
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(mode=0o700)
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o400)
    ports = dict(zip(("control", "daemon"), _free_ports(2), strict=True))
    name = socket.gethostname().partition(".")[0]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    here = {"folder": folder, "name": name, "user": getpass.getuser(), "cpus": os.cpu_count(), "memory": memory}
    text = CONFIGURATION.format(**here, **ports)
    (folder / "slurm.conf").write_text(text)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _daemons(folder: Path) -> list[list[str]]:
    """What runs in the foreground, in this order."""
    munge = {
        "socket": "munge.socket",
        "key-file": "munge.key",
        "pid-file": "munge/pid",
        "log-file": "munge/log",
        "seed-file": "munge/seed",
    }
    options = [f"--{name}={folder / file}" for name, file in munge.items()]
    name = socket.gethostname().partition(".")[0]
    return [
        [str(_found("munged")), "--foreground", "--force", *options],
        [str(_found("slurmctld")), "-D", "-c"],
        [str(_found("slurmd")), "-D", "-N", name],
    ]


@contextlib.contextmanager
def _running(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A program in the foreground while the block lasts; what it says goes to a file."""
    with (
        (folder / f"{Path(command[0]).name}.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True) as process,
    ):
        try:
            if "munged" in command[0]:
                _wait_for(folder / "munge.socket", process)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(path: Path, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NoSlurm(f"{path.name} did not appear: {_last_words(path.parent)}")
        time.sleep(0.05)


def _wait_until_idle(folder: Path, environment: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        asked = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE
        )
        if asked.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    raise NoSlurm(f"its node is not idle after {PATIENCE:.0f} s: {_last_words(folder)}")


def _last_words(folder: Path) -> str:
    """The last line of each log."""
    logs = {path.stem: path.read_text(errors="replace").strip().splitlines() for path in sorted(folder.glob("*.log"))}
    return "; ".join(f"{name}: {lines[-1]}" for name, lines in logs.items() if lines)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    try:
        with slurm() as made:
            sys.exit(subprocess.run(sys.argv[1:], env=made, check=False).returncode)
    except NoSlurm as trouble:
        sys.exit(f"no SLURM: {trouble}")
