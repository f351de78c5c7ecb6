"""``python -m boxsum info`` and ``python -m boxsum verify``."""

from __future__ import annotations

import argparse
import os
import sys

import boxsum


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m boxsum", description="boxsum on this machine")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="version, build, processor and GPUs")
    commands.add_parser("verify", help="run every algorithm that can run here against the definition")
    command = parser.parse_args().command
    if command == "info":
        for name, value in boxsum.info()._asdict().items():
            if name == "type_pairs":
                value = ", ".join(f"{image} -> {table}" for image, table in value)
            print(f"{name}: {value}")
        if not boxsum.cuda.built():
            print(boxsum.cuda.HOW_TO_BUILD)
        return 0
    failed = 0
    for operation in ("sat", "histogram", "convolve"):
        for result in boxsum.verify(operation):
            print(f"{operation} {result.algorithm}: {result.passed} passed, {result.failed} failed", flush=True)
            failed += result.failed
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, `| head` say; nor can the interpreter write at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
