# SPDX-License-Identifier: Apache-2.0
# The commands of daily work. CMake does the building; this file says in which folders and with what.
.DEFAULT_GOAL := help
.PHONY: help deps build asan wheel test test-torch run lint fuzz bundle clean

help:
	@echo 'make deps     install what is missing (Debian packages, as root)'
	@echo 'make build    library, driver, examples and tests, optimised, into build/'
	@echo 'make test     all tests, in build/ and under ASan and UBSan in build-asan/, and of the Python package'
	@echo 'make test-torch  the tests of the Python package under the newest torch'
	@echo 'make wheel    the Python package, into dist/'
	@echo 'make run      every operator on the shapes of its network: checked, then timed'
	@echo 'make lint     clang-format, clang-tidy, ruff'
	@echo 'make fuzz     half a minute of libFuzzer per target; FUZZ_SECONDS or FUZZ_RUNS make it another length'
	@echo 'make bundle   dist/mluops-bundle: runs on another Linux as it is'
	@echo 'make clean    remove what the above made'

deps:
	@scripts/install_deps.sh build

# A build folder is configured when it is new or the presets changed; Ninja sees to everything else.
build/build.ninja: PRESET = release
build-asan/build.ninja: PRESET = asan
build-fuzz/build.ninja: PRESET = fuzz
%/build.ninja: CMakePresets.json | deps
	cmake --preset $(PRESET)
	@touch $@
.PRECIOUS: %/build.ninja

build: build/build.ninja deps
	@cmake --build build

asan: build-asan/build.ninja deps
	@cmake --build build-asan

wheel: dist/wheel.stamp
dist/wheel.stamp: pyproject.toml CMakeLists.txt scripts/wheel.sh $(shell find include src cmake python -type f -not -name '*.pyc')
	@scripts/install_deps.sh build venv
	@scripts/wheel.sh
	@touch $@

test:
	@scripts/run_tests.sh release asan python

test-torch:
	@scripts/run_tests.sh torch

run: build
	build/mluop check --set networks
	build/mluop perf --set networks

lint:
	@scripts/install_deps.sh build lint
	@scripts/lint.sh

fuzz:
	@scripts/install_deps.sh build fuzz
	@$(MAKE) --no-print-directory build-fuzz/build.ninja
	@cmake --build build-fuzz
	@scripts/fuzz.sh

bundle: build
	@scripts/bundle.sh

clean:
	rm -rf build build-asan build-clang build-fuzz build-lint build-static build-wheel dist .venv-*
