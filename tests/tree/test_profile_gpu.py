#!/usr/bin/env python3
"""scripts/profile_gpu, which reads the tile pipeline's sources, still finds in them what it looks for."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "profile_gpu"
loader = importlib.machinery.SourceFileLoader("profile_gpu", str(SCRIPT))
profile_gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("profile_gpu", loader))
loader.exec_module(profile_gpu)


class Places(unittest.TestCase):
    def setUp(self):
        self.places = profile_gpu.Places()

    def line_of(self, file, text):
        return next(n for n, line in enumerate(self.places.text[file], 1) if text in line)

    def test_roles(self):
        for role in profile_gpu.ROLES:
            line = self.line_of("kernel.cuh", f" run_{role}(block")
            self.assertEqual(self.places.role_of([("a/production/sat/block.cuh", 1), ("b/production/sat/kernel.cuh", line)]), role)

    def test_work(self):
        for file, text, work in (("sum.cuh", "readers.wait();", "waits: readers"), ("sum.cuh", "atomicAdd(", "ticket"),
                                 ("exchange.cuh", "left_added[slot].wait(", "waits: left_added"),
                                 ("exchange.cuh", "look_until_found(look_at_top)", "looks for words"),
                                 ("finish.cuh", "carries = carry_of_rows[", "waits: carried"),
                                 ("finish.cuh", "sync_warps(", "waits: other warps of finish"),
                                 ("store.cuh", "store_streaming_if(", "stores")):
            self.assertEqual(self.places.work_of([(file, self.line_of(file, text))]), work, text)


if __name__ == "__main__":
    unittest.main()
