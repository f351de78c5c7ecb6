# Thin fronts of the CMake presets and of scripts/. Each target may be run again at any time.

JOBS ?= $(shell nproc)
# More options for CMake: make build CMAKE_FLAGS=-DBOXSUM_CUDA=OFF
CMAKE_FLAGS ?=

# The interpreter of bench-tool, and more options for it: TOOL_FLAGS="--record NAME"
PYTHON ?= python3
TOOL_FLAGS ?=

# The Python package is tested with the rest, unless CMAKE_FLAGS say no.
python = $(if $(findstring BOXSUM_PYTHON=OFF,$(CMAKE_FLAGS)),OFF,ON)

# A Python that is named builds and tries the wheel with the packages that it has: where there is no package index.
wheel_python = $(if $(filter-out file default undefined,$(origin PYTHON)),BOXSUM_WHEEL_PYTHON=$(PYTHON))

.PHONY: help build demo test build-python test-python test-torch bench-python docs wheel wheel-cuda format bench-cpu test-gpu test-python-gpu devices-gpu gpu-parts sanitize-gpu soak-gpu package bench-tool bench-gpu bench-python-gpu profile-gpu bench-zoo bench-hist clean

help: ## Print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

build: packages-build ## Build a release; the command-line tool is build/bin/boxsum
	cmake --preset release $(CMAKE_FLAGS)
	cmake --build build -j$(JOBS) --target bin/boxsum

demo: build ## Install what is missing, build, and process a photograph into demo-out/
	cmake --build build -j$(JOBS) --target examples/throughput
	scripts/demo

test: packages-build packages-test ## Install what is missing, build, and run every test that this machine can run
ifeq ($(python),ON)
	scripts/python_environment test build/python-test
endif
	cmake --preset release -DBOXSUM_PYTHON=$(python) -DPython_EXECUTABLE=$(CURDIR)/build/python-test/bin/python $(CMAKE_FLAGS)
	cmake --build build -j$(JOBS)
	ctest --preset release -j$(JOBS)

build-python: packages-build
	scripts/python_environment test build/python-test
	cmake --preset release -DBOXSUM_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/build/python-test/bin/python $(CMAKE_FLAGS)
	cmake --build build -j$(JOBS) --target boxsum_python

test-python: build-python ## Test the Python package beside scikit-image, SciPy, OpenCV and astropy, and run their own tests with it
	scripts/test_python

test-torch: build-python ## Test boxsum.torch (gradients, vmap, torch.compile) with PyTorch on the CPU; downloads 3 GB
	scripts/test_torch

bench-python: build-python ## Time the Python package beside NumPy, scikit-image, SciPy, OpenCV and astropy on the CPU
	scripts/bench_python

docs: build-python packages-docs ## Build the site, with a gallery whose examples are run for it, into build/docs/html
	cmake --build build -j$(JOBS) --target boxsum_tool
	scripts/docs

wheel: packages-build packages-python ## Build the Python package into build/wheel, check it, and try it in an empty environment
	$(wheel_python) scripts/wheel

wheel-cuda: packages-build packages-python ## The same with CUDA: one wheel for GPUs from 8.0 to 12.0, which works without one, too
	$(wheel_python) scripts/wheel cuda

package: packages-build ## Make a Debian package and a tar archive of the statically linked tool, in build/package
	JOBS=$(JOBS) scripts/package

format: packages-check ## Format the sources with clang-format 14
	scripts/format

bench-cpu: packages-build packages-bench ## Measure the CPU backend beside OpenCV and the streaming limit
	scripts/bench_cpu

bench-tool: build ## Time the tool from file to file; PYTHON=...: a Python with OpenCV and scikit-image to compare with
	$(PYTHON) scripts/bench_tool $(TOOL_FLAGS)

test-gpu: packages-build packages-test ## Build for the GPU present and run its tests; writes results/<gpu>/tests.json
	scripts/test_gpu

test-python-gpu: packages-build ## Build the Python package for the GPU present and test it with the PyTorch and CuPy of PYTHON
	PYTHON=$(PYTHON) scripts/test_python_gpu

devices-gpu: packages-build packages-test packages-bench ## What needs two GPUs: tests, and large images on one and on all
	scripts/devices_gpu

sanitize-gpu: packages-build packages-test ## The GPU suite's small shapes under compute-sanitizer
	scripts/sanitize_gpu

gpu-parts: packages-build packages-test packages-bench ## One build, then the PARTS of docs/gpu-testing.md in turn: PARTS="test soak bench_gpu"
	$(PYTHON) scripts/gpu_parts $(PARTS)

soak-gpu: packages-build packages-test ## More than 2^32 elements, random shapes, repetitions under load, on the GPU
	scripts/soak_gpu

bench-gpu: packages-build packages-bench ## Measure tables and windows on the GPU beside a device copy; writes results/<gpu>/bench-sat.json and bench-windows.json
	scripts/bench_gpu
	scripts/bench_gpu windows

bench-python-gpu: packages-build ## Time the Python package on the GPU beside the PyTorch and CuPy of PYTHON
	$(PYTHON) scripts/bench_python_gpu

profile-gpu: packages-build packages-bench ## Where the GPU kernels' time goes, by Nsight Compute; writes results/<gpu>/profile-sat.json
	scripts/profile_gpu

bench-zoo: packages-build packages-bench ## The papers' experiments on the GPU; writes results/<gpu>/bench-zoo.json
	scripts/bench_zoo

bench-hist: packages-build packages-bench ## Integral histograms' figures on the GPU; writes results/<gpu>/bench-hist-papers.json
	scripts/bench_histogram_papers

clean: ## Remove what was built
	rm -rf build demo-out

packages-%: FORCE
	@scripts/install_packages $*

FORCE:
