"""What a process sees beside results: memory, threads, forks and the interpreter's lock."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import reference

import boxsum

IMAGE = reference.random_image((40, 50), "uint8")


def calls():
    table = boxsum.Table.build(IMAGE, squares=True)
    table.var([[0, 0, 3, 3]])
    table.sum([[0.5, 0.5, 3, 3]])
    table[1:4, 2:5]
    boxsum.box_filter(IMAGE, 5)
    boxsum.local_statistics(IMAGE, 5)
    boxsum.threshold(IMAGE, 5, out=np.empty(IMAGE.shape, bool))
    boxsum.variable_box_filter(IMAGE, IMAGE // 64)
    boxsum.sat(IMAGE[:, ::2], out=np.empty((40, 25), np.uint64))
    histograms = boxsum.integral_histogram(IMAGE, 4)
    histograms.windows(8, step=8)
    histograms.search([1, 2, 3, 4], 8, step=8)
    for wrong in (
        lambda: boxsum.sat(IMAGE, layout="odd"),
        lambda: boxsum.sat(IMAGE, out=IMAGE),
        lambda: table.sum([1]),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()


def test_no_references_are_left():
    calls()
    objects = [IMAGE, np.uint8, np.dtype("uint8"), boxsum.Binning]
    if sys.version_info < (3, 12):  # from there on it is not counted
        objects.append(None)
    gc.collect()
    before = [sys.getrefcount(one) for one in objects], boxsum.memory.usage().used_bytes, len(gc.get_objects())
    for _ in range(50):
        calls()
    gc.collect()
    after = [sys.getrefcount(one) for one in objects], boxsum.memory.usage().used_bytes, len(gc.get_objects())
    assert all(abs(a - b) < 25 for a, b in zip(before[0], after[0], strict=True))
    assert before[1] == after[1]
    assert after[2] - before[2] < 50


def test_results_give_their_memory_back():
    image = reference.random_image((600, 700), "uint8")
    used = boxsum.memory.usage().used_bytes
    result = boxsum.sat(image)
    part = result[3:5]
    assert boxsum.memory.usage().used_bytes >= used + result.nbytes
    alive = weakref.ref(result)
    del result
    assert alive() is not None or part.base is not None
    assert boxsum.memory.usage().used_bytes > used
    np.testing.assert_array_equal(part, boxsum.sat(image)[3:5])
    del part
    gc.collect()
    assert boxsum.memory.usage().used_bytes == used
    boxsum.memory.trim()
    assert boxsum.memory.usage().cached_bytes == 0


def test_the_pool_can_be_limited():
    before = boxsum.memory.usage().limit_bytes
    try:
        boxsum.memory.set_limit(0)
        boxsum.sat(reference.random_image((600, 700), "uint8"))
        assert boxsum.memory.usage().cached_bytes == 0
    finally:
        boxsum.memory.set_limit(before)


def test_eight_threads():
    images = [reference.random_image((60, 70), "uint8", seed) for seed in range(8)]
    tables = [boxsum.sat(image) for image in images]
    blurred = [boxsum.box_filter(image, 7) for image in images]
    wrong = []
    start = threading.Barrier(8)

    def work(i):
        start.wait()
        for _ in range(60):
            if (
                not (boxsum.sat(images[i]) == tables[i]).all()
                or not (boxsum.box_filter(images[i], 7) == blurred[i]).all()
            ):
                wrong.append(i)
            if int(boxsum.Table.build(images[i])[3:50, 2:60]) != int(images[i][3:50, 2:60].sum()):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_others_run_while_boxsum_computes():
    image = np.ones((3000, 3000), np.float64)
    out = np.empty_like(image)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        # With the lock held nothing would ever tick in the middle of a call; on a busy machine it may take some calls.
        for _ in range(200):
            ticks.clear()
            begin = time.perf_counter()
            boxsum.sat(image, out=out, threads=1)
            end = time.perf_counter()
            third = (end - begin) / 3
            if any(begin + third < one < end - third for one in list(ticks)):
                return
        pytest.fail("the interpreter's lock was held in each of 200 calls")
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_fork():
    image = reference.random_image((900, 1000), "uint8")
    expected = boxsum.sat(image, threads=2)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            ok = (boxsum.sat(image, threads=2) == expected).all() and boxsum.box_filter(image, 9, threads=2).any()
            os._exit(0 if ok else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    np.testing.assert_array_equal(boxsum.sat(image, threads=2), expected)


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=600)


def test_nothing_is_leaked_at_the_end_and_nothing_else_imported():
    code = (
        "import sys, numpy as np, boxsum\n"
        "t = boxsum.Table.build(np.ones((500, 600), np.uint8), squares=True)\n"
        "print(int(t[:, :]), 'torch' in sys.modules, 'scipy' in sys.modules)\n"
    )
    result = run("-X", "dev", "-c", code)
    assert result.stdout == "300000 False False\n" and result.stderr == "" and result.returncode == 0


def test_a_second_interpreter_is_refused_and_the_first_goes_on():
    code = (
        "import importlib, sys, numpy as np, boxsum\n"
        "known = '_interpreters' if sys.version_info >= (3, 13) else '_xxsubinterpreters'\n"
        "interpreters = importlib.import_module(known)\n"
        "second = 'try:\\n import boxsum\\nexcept ImportError:\\n print(\"refused\", flush=True)'\n"
        "interpreters.run_string(interpreters.create(), second)\n"
        "print(boxsum.sat(np.ones((2, 2), np.uint8)).tolist())\n"
    )
    assert run("-c", code).stdout == "refused\n[[1, 2], [2, 4]]\n"


def test_command_line():
    result = run("-m", "boxsum", "info")
    assert result.returncode == 0 and f"version: {boxsum.__version__}" in result.stdout
    if not boxsum.cuda.built():
        assert "BOXSUM_CUDA=ON" in result.stdout


def test_whoever_reads_may_leave():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as stdout:
        ran = subprocess.run([sys.executable, "-m", "boxsum", "info"], stdout=stdout, stderr=subprocess.PIPE, timeout=600)
    assert (ran.returncode, ran.stderr) == (1, b"")
