"""What only some systems have is asked for in one file, with a fall-back for the others."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import localax
from localax import _system

ROOT = Path(localax.__file__).parent
NOT_EVERYWHERE = (
    r"/proc|sched_|sysconf|getrusage|\bsignal\.[A-Za-z]|start_new_session|os\.(fork|replace|rename|O_|kill|set|get)"
    r"|fcntl|resource\.|os\.uname|platform\.system|sys\.platform|devices\(.cpu|default_backend\(\) =="
)


def test_what_depends_on_the_system_stands_in_one_file():
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            hit = re.search(NOT_EVERYWHERE, line)
            if hit and name != "_system.py":
                found.append(f"{name}:{number} {line.strip()}")
    found = [line for line in found if not re.search(r"os\.getpid|os\.environ\.(get|set)", line)]
    assert found == []


def test_such_a_call_would_be_found():
    for line in ("os.sched_getaffinity(0)", "Path('/proc/self')", "signal.signal(2, f)", "os.replace(a, b)"):
        assert re.search(NOT_EVERYWHERE, line)


def test_a_process_knows_what_it_takes():
    before = _system.resident()
    block = np.ones(25_000_000)
    assert _system.resident() - before == pytest.approx(block.nbytes, rel=0.1)  # beside what else comes and goes


def test_fall_backs(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert _system.cores() == os.cpu_count()
    assert _system.memory() == 16 * 2**30
    assert _system.resident() > 2**20  # by the peak that the resource module tells


@pytest.mark.parametrize("library", ["glibc", "none"])
def test_programs_are_forgotten_where_they_take_too_much(library, monkeypatch):
    if library == "none":
        monkeypatch.delattr(_system.ctypes, "CDLL")
    program = jax.jit(lambda x: x + 1)
    program(1.0)
    _system.forget_programs(2.0**60)
    assert program._cache_size() == 1
    _system.forget_programs(0.0)
    assert program._cache_size() == 0


@pytest.mark.slow
@pytest.mark.skipif(_system.pieces() == 0, reason="this system does not tell what a process has mapped")
def test_programs_of_many_sizes_do_not_end_the_process():
    """XLA ends a process that may map no more; here the limit is told to be what five of these sizes come to."""
    code = (
        "import warnings; import localax as lx; from localax import _system\n"
        "warnings.simplefilter('ignore'); _system.LOOK = 2**20\n"
        "def pieces(n):\n"
        "    task = lx.Task([lx.stimuli.NLGP(n, 0.5, 3.0), lx.stimuli.NLGP(n, 1, 3.0)], [0, 1])\n"
        "    lx.train(task, lx.networks.SingleReLU(), steps=4, batch=4, rate=0.05, progress=False)\n"
        "    return _system.pieces()\n"
        "first, second = pieces(10), pieces(11)\n"
        "_system.most_pieces = lambda: 2 * (first + 1.5 * (second - first))\n"
        "print((max(map(pieces, range(12, 16))) - first) / (second - first))"
    )
    alike = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false"}  # what is loaded has other pieces
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, env=alike
    )
    assert done.returncode == 0, done.stderr
    assert 1.5 < float(done.stdout) < 4  # half of the limit, and what the next size adds; without that it is 5


def test_a_polite_end_is_taken_as_an_interruption():
    code = (
        "import os, signal\nfrom localax._system import terminated_as_interrupt\n"
        "with terminated_as_interrupt():\n    try:\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        import time; time.sleep(10)\n    except KeyboardInterrupt:\n        print('kept')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("kept\n", 0)
    assert signal.getsignal(signal.SIGTERM) is not None


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_an_interruption_in_a_destructor_is_not_lost(sent):
    code = (
        "import os, signal\nfrom localax._system import interrupts, terminated_as_interrupt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"class Press:\n    def __del__(self):\n        os.kill(os.getpid(), signal.{sent})\n"
        "with terminated_as_interrupt(), interrupts() as interrupted:\n    print(interrupted())\n"
        "    pressed = Press(); del pressed\n    print(interrupted())\n"
        f"    try:\n        os.kill(os.getpid(), signal.{sent}); print('lost')\n"
        "    except KeyboardInterrupt:\n        print('at once')\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split("\n"), done.stderr) == (["False", "True", "at once", "True", ""], "")


def test_renaming_what_is_in_use_is_told_in_one_line(monkeypatch, tmp_path):
    def refuse(*_):
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="in use by another program"):
        _system.rename(tmp_path / "a", tmp_path / "b")


FLAGS = ("NPROC", "XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
COMPILE = "import jax, jax.numpy as jnp; jax.jit(lambda x: jnp.sort(jnp.linalg.inv(x)))(jnp.eye(9))"


def kept(code: str, folder: Path, **flags: str) -> list[str]:
    """What a fresh Python leaves in its cache of compiled programs."""
    inherited = {name: value for name, value in os.environ.items() if name not in FLAGS}
    environment = {**inherited, "XDG_CACHE_HOME": str(folder), **flags}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    return [path.name for path in folder.rglob("*-cache")]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["import localax; localax.fast(); import jax", "import jax, localax; localax.fast()"])
def test_what_is_compiled_is_kept(order, tmp_path):
    assert kept(f"{order}; {COMPILE}", tmp_path, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")  # it may take less
    assert (tmp_path / "localax" / "jax").is_dir()


@pytest.mark.slow
def test_an_import_sets_no_flag(tmp_path):
    assert kept(f"import localax.stimuli; {COMPILE}", tmp_path) == []


@pytest.mark.slow
def test_what_the_environment_says_stands(tmp_path):
    other = tmp_path / "other"
    assert kept(f"import localax; localax.fast(); {COMPILE}", tmp_path, JAX_COMPILATION_CACHE_DIR=str(other))
    assert list(other.iterdir())
    assert not (tmp_path / "localax").exists()


@pytest.mark.slow
def test_what_was_half_kept_is_kept_anew_without_a_word(tmp_path, capfd):
    mend = "import localax._system as s; s.fast(); s.mend_cache()"
    flags = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    whole = {name: (tmp_path / name).stat().st_size for name in kept(f"{mend}; {COMPILE}", tmp_path, **flags)}
    assert whole
    for name in whole:
        os.truncate(tmp_path / name, 10)
    kept(f"{mend}; {COMPILE}", tmp_path, **flags)
    assert capfd.readouterr().err == ""
    assert {name: (tmp_path / name).stat().st_size > 10 for name in whole} == dict.fromkeys(whole, True)


OWN_FOLDER = """
import sys
from localax._system import own_folder
with own_folder("mine-") as folder:
    print(folder, flush=True)
    sys.stdin.readline()
"""


def test_a_temporary_folder_outlives_its_process_only_until_the_next_one(tmp_path):
    def started():
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        process = subprocess.Popen([sys.executable, "-c", OWN_FOLDER], **pipes)
        return process, Path(process.stdout.readline().strip())

    (tmp_path / "mine-too").mkdir()  # of somebody who holds no lock
    (first, killed), (second, living) = started(), started()
    first.kill()
    first.communicate()
    assert killed.exists()
    third, _ = started()
    assert (killed.exists(), living.exists()) == (False, True)
    for process in (second, third):
        process.communicate("\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine-too"]


POOL = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from localax._system import end_with_parent
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent)
    pool.submit(time.sleep, 0).result()
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_draws_ends_with_whoever_asked_even_if_that_is_killed(tmp_path):
    (tmp_path / "pool.py").write_text(POOL)
    process = subprocess.Popen([sys.executable, str(tmp_path / "pool.py")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    assert process.communicate(timeout=60) == ("", None)  # the pool holds the other end of this stream


def test_a_cache_that_cannot_be_written_brings_no_warnings(tmp_path):
    """JAX has two lines of its own for every program; ``localax doctor`` has one for all."""
    code = (
        "import warnings, localax._system as s; s.mend_cache()\n"
        "for act in ('reading', 'writing'):\n"
        "    warnings.warn(f\"Error {act} persistent compilation cache entry for 'jit_f': OSError\")\n"
        "warnings.warn('another')"
    )
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "gone")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "persistent" not in done.stderr
    assert "another" in done.stderr


def test_a_pipe_in_the_place_of_a_lock_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "mine-other").mkdir()
    os.mkfifo(tmp_path / "mine-other" / ".lock")
    monkeypatch.setattr(_system.tempfile, "tempdir", str(tmp_path))
    with _system.own_folder("mine-") as folder:
        assert folder.is_dir()
    assert (tmp_path / "mine-other").exists()


def test_without_a_home_nothing_is_kept(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setattr(_system.Path, "home", nowhere)
    _system.fast()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
