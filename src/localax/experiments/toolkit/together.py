"""Independent parts of an experiment at the same time: a thread each, which leaves Python while XLA computes."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

import jax

from ..._progress import Update

Part = TypeVar("Part")
Result = TypeVar("Result")


def together(work: Callable[[Part, Update], Result], parts: Sequence[Part], progress: Update) -> list[Result]:
    """``work(part, its own progress)`` for every part, in order; where one fails, the others end at their next report.

    Each thread has the flag for x64 that the caller has: JAX keeps it by thread.
    """
    x64 = bool(jax.config.read("jax_enable_x64"))
    done = [0.0] * len(parts)
    ended, one_at_a_time = threading.Event(), threading.Lock()

    def tell(i: int, fraction: float) -> None:
        if ended.is_set():
            raise InterruptedError("another part of the experiment failed")
        with one_at_a_time:
            done[i] = fraction
            progress(sum(done) / len(done))

    def one(i: int, part: Part) -> Result:
        with jax.enable_x64(x64):
            return work(part, partial(tell, i))

    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(one, i, part) for i, part in enumerate(parts)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            ended.set()  # for parts that still run: one failed, or Ctrl-C came
    failed = [f for f in futures if f.exception() and not isinstance(f.exception(), InterruptedError)]
    return [future.result() for future in failed or futures]
