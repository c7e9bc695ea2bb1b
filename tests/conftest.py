"""Numeric flags and the shape of random tests, in one place."""

import gc
import os
from importlib.metadata import version
from pathlib import Path

# One thread per process, in XLA and in numpy, set before they load: tests run side by side.
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Most of a test's time is compiling a program that runs once: this halves it, and long runs stay as fast.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=1 --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if version("jax").startswith("0.10.") else ""),  # later ones end at it
)
# What one process compiles, the other test process, those that tests start and the next run load.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".quick" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import jax
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# In one process a plugin of pytest has loaded numpy already; on a busy machine its threads wait for each other.
threadpool_limits(1, "blas")
gc.disable()  # until all is loaded

# The same examples on every run: a failure that comes and goes helps nobody. Compilation makes first examples slow.
settings.register_profile(
    "localax",
    derandomize=True,
    deadline=None,
    max_examples=10,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("localax")


@pytest.fixture
def x64():
    """JAX in float64. Samplers are float32 by default, so this is not switched on for everyone."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def bounded_memory():
    """Two processes stay below 3 GB together; a program that is needed again is loaded from disk."""
    from localax._system import forget_programs  # not above: shapes are checked in what is imported after this file

    yield
    forget_programs(1.2e9)


def pytest_collection_finish():
    """What is loaded by now stays: to look for garbage in it over and over takes a tenth of the time of all tests."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whatever asks a server of its own is slow: its processes take seconds to be ready."""
    for item in items:
        if "server" in item.fixturenames:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def lab_store(tmp_path_factory):
    """A store with one outcome, which the lab's server shows."""
    import lab

    root = tmp_path_factory.mktemp("store")
    lab.fill(root)
    return root


@pytest.fixture(scope="session")
def server(lab_store):
    """The lab's real server, one for all tests of this process."""
    import lab

    with lab.served(lab_store) as client:
        yield client
