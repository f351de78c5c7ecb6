#!/usr/bin/env python3
"""scripts/check_layers refuses what it is there to refuse."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
loader = importlib.machinery.SourceFileLoader("check_layers", str(ROOT / "scripts" / "check_layers"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
loader.exec_module(check)


class Layers(unittest.TestCase):
    def said_of(self, **files):
        """What the check prints of a tree of these files, without what it says of allowed edges that are not there."""
        with tempfile.TemporaryDirectory() as name:
            for path, text in files.items():
                place = pathlib.Path(name) / path.replace("__", "/").replace("_hpp", ".hpp").replace("_cpp", ".cpp").replace("_md", ".md")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
            done = subprocess.run([sys.executable, ROOT / "scripts/check_layers", name], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
        return [line for line in done.stdout.splitlines() if "nothing needs any more" not in line]

    def test_downwards(self):
        self.assertEqual(self.said_of(src__core__a_hpp="", src__cpu__simd__b_cpp='#include "core/a.hpp"\n'), [])

    def test_upwards(self):
        said = self.said_of(src__api__a_hpp="", src__core__b_cpp='#  include "api/a.hpp"\n')
        self.assertEqual(said, ["src/core/b.cpp includes src/api/a.hpp: core is not above api"])

    def test_sideways(self):
        self.assertEqual(len(self.said_of(src__cpu__a_hpp="", src__reference__b_cpp='#include "cpu/a.hpp"\n')), 1)

    def test_from_the_public_headers(self):
        self.assertEqual(len(self.said_of(src__core__a_hpp="", include__boxsum__b_hpp='#include "core/a.hpp"\n')), 1)

    def test_programs(self):
        said = self.said_of(src__core__a_hpp="", tools__boxsum__b_cpp='#include "core/a.hpp"\n')
        self.assertEqual(said, ["tools/boxsum/b.cpp includes src/core/a.hpp: programs use the public API"])

    def test_a_folder_without_a_layer(self):
        self.assertEqual(len(self.said_of(src__elsewhere__a_hpp="")), 1)

    def test_the_picture(self):
        text = (ROOT / "ARCHITECTURE.md").read_text()
        self.assertEqual(check.picture(text)[1:4], [{"convolve"}, {"filters", "reference", "cpu", "cuda"},
                                                    {"cuda/runtime", "cpu/filters", "cpu/convolve"}])
        self.assertEqual(self.said_of(ARCHITECTURE_md=text), [])
        lines = text.splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if line.startswith(" src/"))
        turned = "".join([*lines[:first], lines[first + 1], lines[first], *lines[first + 2:]])
        self.assertEqual(self.said_of(ARCHITECTURE_md=turned), ["the picture of ARCHITECTURE.md is not LAYERS of scripts/check_layers"])
        said = self.said_of(ARCHITECTURE_md=text.replace(" src/pipeline     src/verify", " src/pipeline                "))
        self.assertIn("draws a layer of pipeline, which", said[0])


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
