"""A Dask cluster in a process of its own: `python _cluster.py '{"kind": "local", ...}'` says where it is.

It ends when its standard input does, so that nothing is left of it when whoever started it is killed. Run as a file: it
loads nothing of this package, and the processes that Dask starts from here do not run the caller's program again.
"""

import json
import os
import subprocess
import sys
import warnings
from typing import Any

LOOPBACK = "127.0.0.1"
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # `Work` counts them
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": {},
    "logging": {"distributed": "critical", "tornado": "critical"},
}


def local(workers: int, tries: int = 3) -> Any:
    """So many Dask workers of one thread on this machine, that listen to nobody else."""
    from distributed import LocalCluster

    page = {"dashboard_address": f"{LOOPBACK}:0", "silence_logs": 50}
    try:
        return LocalCluster(n_workers=workers, threads_per_worker=1, host=LOOPBACK, memory_limit=0, **page)
    except RuntimeError:  # a worker that is killed as it begins takes all with it
        if tries == 1:
            raise
        return local(workers, tries - 1)


def slurm(jobs: int, **options: Any) -> Any:
    """So many jobs, each a Dask worker with a thread for each of its cores; one that ends is asked for again."""
    from dask_jobqueue.slurm import SLURMCluster

    page = {"dashboard_address": f"{LOOPBACK}:0"}
    cluster = SLURMCluster(processes=1, scheduler_options=page, silence_logs="critical", **options)
    _ask_sbatch(cluster.job_script())
    cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    return cluster


def _ask_sbatch(script: str) -> None:
    """Whether SLURM would take such a job: what Dask is told later on it keeps to itself, and asks again for ever."""
    asked = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise ValueError(asked.stderr)


KINDS = {"local": local, "slurm": slurm}


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not be taken for a message
    warnings.simplefilter("ignore")
    from dask import config

    config.set(CONFIG)
    asked = json.loads(sys.argv[1])
    try:
        cluster = KINDS[asked.pop("kind")](**asked)
    except Exception as error:
        out.write(json.dumps({"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}) + "\n")
        out.flush()
        return
    with cluster:
        out.write(json.dumps({"address": cluster.scheduler_address}) + "\n")
        out.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
