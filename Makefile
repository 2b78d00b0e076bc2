# SPDX-License-Identifier: Apache-2.0
# The commands of daily work. CMake does the building; this file says in which folders and with what.
.DEFAULT_GOAL := help
.PHONY: help deps build asan wheel test test-torch run lint fuzz load tsan valgrind coverage aarch64 fresh-root \
  mutate bundle clean

help:
	@echo 'make deps     install what is missing (Debian packages, as root)'
	@echo 'make build    library, driver, examples and tests, optimised, into build/'
	@echo 'make test     all tests, in build/ and under ASan and UBSan in build-asan/, and of the Python package'
	@echo 'make test-torch  the tests of the Python package under the newest torch'
	@echo 'make wheel    the Python package, into dist/'
	@echo 'make run      every operator on the shapes of its network: checked, then timed'
	@echo 'make lint     clang-format, clang-tidy, cppcheck, ruff'
	@echo 'make fuzz     half a minute of libFuzzer per target; FUZZ_SECONDS or FUZZ_RUNS make it another length'
	@echo 'make load     10^5 calls of all operators from eight threads, 10^6 in memory that must not grow (LOAD_CALLS, FLAT_CALLS, LOAD_SEED)'
	@echo 'make tsan     the tests of threads under ThreadSanitizer, in build-tsan/'
	@echo 'make valgrind  cases of every operator under memcheck'
	@echo 'make coverage  lines of src/ that the tests run, at least 95 %'
	@echo 'make aarch64  cross-built for 64-bit Arm, a sample of the cases checked under qemu'
	@echo 'make fresh-root  the commands of README in a Debian 12 root made for it (root)'
	@echo 'make mutate   changes operators and bounds of the kernels, and sees whether the tests notice'
	@echo 'make bundle   dist/mluops-bundle: runs on another Linux as it is'
	@echo 'make clean    remove what the above made'

deps:
	@scripts/install_deps.sh build

# A build folder is configured when it is new or the presets changed; Ninja sees to everything else.
build/build.ninja: PRESET = release
build-asan/build.ninja: PRESET = asan
build-fuzz/build.ninja: PRESET = fuzz
build-tsan/build.ninja: PRESET = tsan
build-coverage/build.ninja: PRESET = coverage
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
	@scripts/install_deps.sh build lint venv
	@scripts/lint.sh

fuzz:
	@scripts/install_deps.sh build fuzz
	@$(MAKE) --no-print-directory build-fuzz/build.ninja
	@cmake --build build-fuzz
	@scripts/fuzz.sh

load: build
	LOAD_CALLS=$${LOAD_CALLS:-100000} FLAT_CALLS=$${FLAT_CALLS:-1000000} build/tests/mluops_load_tests

tsan: build-tsan/build.ninja deps
	@cmake --build build-tsan --target mluops_load_tests mluops_thread_start_tests mluops_thread_tests
	@ctest --preset tsan

valgrind: build/build.ninja deps
	@scripts/install_deps.sh valgrind
	@rm -f build/CMakeFiles/mluops_testing.dir/src/testing/buffer.cc.o  # looks whether valgrind's header is there
	@cmake --build build --target mluop
	@scripts/valgrind.sh

coverage:
	@scripts/install_deps.sh build coverage
	@$(MAKE) --no-print-directory build-coverage/build.ninja
	@cmake --build build-coverage
	@scripts/coverage.sh

aarch64:
	@scripts/install_deps.sh build aarch64
	@scripts/aarch64.sh

fresh-root:
	@scripts/install_deps.sh fresh-root
	@scripts/fresh_root.sh

mutate: deps
	@scripts/install_deps.sh venv
	@scripts/mutate.py

bundle: build
	@scripts/bundle.sh

clean:
	rm -rf build build-aarch64 build-asan build-clang build-coverage build-fresh build-fuzz build-lint build-mutants \
	  build-static build-tsan build-wheel dist .venv-*
