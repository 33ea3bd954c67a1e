"""Runs every benchmark and prints one table: ``python -m bench [--smoke] [NAME...]``."""

import argparse
import compileall
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import sm
from bench import (
    daemon_start,
    delivery,
    hook_round_trip,
    hooks_per_second,
    idle,
    proxy,
    redaction,
    rescue,
    tool_cost,
    transcript,
    wrapped,
)
from bench.figures import Figure, table
from bench.sizes import FULL, SMOKE, Sizes

BENCHMARKS: dict[str, Callable[[Sizes], Iterator[Figure]]] = {
    "round-trip": hook_round_trip.measure,
    "load": hooks_per_second.measure,
    "delivery": delivery.measure,
    "start": daemon_start.measure,
    "idle": idle.measure,
    "tool-cost": tool_cost.measure,
    "transcript": transcript.measure,
    "wrapped": wrapped.measure,
    "redaction": redaction.measure,
    "proxy": proxy.measure,
    "rescue": rescue.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only to see it work")
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(BENCHMARKS)}")
    args = parser.parse_args()
    unknown = set(args.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    if not args.smoke:
        _compile()
    figures: list[Figure] = []
    for name in args.names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures += BENCHMARKS[name](SMOKE if args.smoke else FULL)
    print(_machine())
    print(table(figures))
    missed = sum(figure.verdict == "MISS" for figure in figures)
    if not args.smoke:
        print(f"{missed} goals missed." if missed else "All goals met.")
    return 1 if missed and not args.smoke else 0


def _compile() -> None:
    """As an installation does: a first run must not be measured as it compiles."""
    compileall.compile_dir(str(Path(sm.__file__).parent), quiet=2)
    compileall.compile_path(quiet=2)


def _machine() -> str:
    load = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}; "
        "bytecode compiled beforehand; each floor measured in the same run."
    )


if __name__ == "__main__":
    sys.exit(main())
