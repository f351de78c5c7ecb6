"""``python -m boxsum.compat skimage,scipy -- script.py arguments``: runs a script with functions replaced."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from boxsum.compat._drop_in import LIBRARIES, install, lines_of_report
from boxsum.errors import InvalidArgument


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m boxsum.compat",
        description="Runs a script with functions of other libraries computed by boxsum, and says how many calls were.",
    )
    parser.add_argument("libraries", help=f"separated by commas: {', '.join(LIBRARIES)}")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("--quiet", action="store_true", help="do not count the calls at the end")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER).required = False
    words = sys.argv[1:]
    if "--" in words:
        words.remove("--")  # the first; others are the script's
    given = parser.parse_args(words)
    if not given.module and not os.path.exists(given.script):
        parser.error(f"script: there is no file {given.script!r}")
    try:
        install(*given.libraries.split(","))
    except InvalidArgument as problem:
        parser.error(str(problem))
    except ImportError as problem:
        parser.error(f"libraries: {given.libraries}: {problem}")
    sys.argv = [given.script, *given.arguments]
    try:
        if given.module:
            runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(given.script)))  # as Python does
            runpy.run_path(given.script, run_name="__main__")
    finally:
        if not given.quiet:
            for line in lines_of_report():
                print(f"boxsum: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
