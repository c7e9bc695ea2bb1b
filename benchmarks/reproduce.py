"""How long every experiment takes, cold, side by side: ``python benchmarks/reproduce.py [--preset paper] [--json]``.

Nothing is loaded from the store. The exit code is 1 if a chapter takes longer than its target.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence

from localax import experiments, runner

TARGETS = {("paper", "quick"): 180, ("paper", "paper"): 900, ("notes", "quick"): 240, ("notes", "paper"): 1200}
"""Seconds for a chapter, by preset, on two cores."""


def chapter(name: str, preset: str) -> dict:
    """Wall time of a chapter and of each of its experiments."""
    with tempfile.TemporaryDirectory() as store:
        began = time.perf_counter()
        outcomes, failed = runner.run_or_load(name, preset, store=store, fresh=True)
        wall = time.perf_counter() - began
    seconds = {o.name: round(o.seconds, 1) for o in outcomes}
    return {"chapter": name, "preset": preset, "seconds": round(wall, 1), "target": TARGETS[name, preset],
            "experiments": seconds, "failed": list(failed)}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="reproduce", description="How long every experiment takes.")
    parser.add_argument("--preset", choices=("quick", "paper"), default="quick")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    chapters = [chapter(name, options.preset) for name in experiments.CHAPTERS]
    if options.json:
        print(json.dumps(chapters, indent=1))
    else:
        for one in chapters:
            print(f"{one['chapter']} ({one['preset']}): {one['seconds']} s, target {one['target']} s")
            for name, seconds in sorted(one["experiments"].items(), key=lambda item: -item[1]):
                print(f"  {name:<24}{seconds:8.1f} s")
    return 0 if all(one["seconds"] <= one["target"] and not one["failed"] for one in chapters) else 1


if __name__ == "__main__":
    raise SystemExit(main())
