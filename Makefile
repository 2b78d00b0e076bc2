# SPDX-License-Identifier: Apache-2.0
# The commands of daily work. CMake builds; this file names the build folders and the scripts.
.DEFAULT_GOAL := help
.PHONY: help deps build asan wheel test test-torch run lint odr fuzz load tsan valgrind coverage aarch64 fresh-root \
  mutate package package-test abi docs nightly clean

help:
	@echo 'Start here'
	@echo '  make run          build library and driver, check and time every operator: two minutes on two cores'
	@echo '  make test         run all tests: C++, C++ with ASan and UBSan, Python'
	@echo 'Build'
	@echo '  make deps         install the missing packages (Debian, root)'
	@echo '  make build        build library, driver, examples and tests into build/'
	@echo '  make wheel        build the Python package into dist/'
	@echo '  make package      build .deb packages, relocatable archives and the wheel into dist/, check the packages'
	@echo '  make docs         build the documentation into site/ and check its links'
	@echo '  make clean        remove all build folders, dist/, site/ and virtual environments'
	@echo 'Analyse'
	@echo '  make lint         format, clang-tidy and cppcheck of changed sources, ruff, include and prose rules, odr'
	@echo '  make odr          link with -flto -Wodr to detect ODR violations'
	@echo '  make abi          compare the ABI with abi/; scripts/abi.sh dump accepts an intended change'
	@echo 'Test more'
	@echo '  make test-torch   run the Python tests under the newest torch'
	@echo '  make tsan         run the tests of threads under ThreadSanitizer'
	@echo '  make valgrind     run cases of every operator under memcheck'
	@echo '  make load         run 10^5 calls from eight threads, then 10^6 in constant memory (LOAD_CALLS, MEMORY_CALLS, LOAD_SEED)'
	@echo '  make fuzz         run libFuzzer for half a minute per target (docs/fuzzing.md)'
	@echo '  make coverage     measure the lines of src/ that the tests run: at least 95 %'
	@echo '  make mutate       break the code on purpose, and count the mutants that the tests detect'
	@echo '  make aarch64      cross-build for 64-bit Arm and check the basic cases under qemu'
	@echo '  make fresh-root   run the commands of README in a new Debian 12 root (root)'
	@echo '  make package-test install, use and remove the packages in a new Debian 12 root (root)'
	@echo '  make nightly      run what CI does not, and write docs/quality.md (STEPS="fuzz report" runs two steps)'

deps:
	@scripts/install_deps.sh build

# Configures a build folder that is new or older than the presets; Ninja finds all other changes.
build/build.ninja: PRESET = release
build-asan/build.ninja: PRESET = asan
build-fuzz/build.ninja: PRESET = fuzz
build-tsan/build.ninja: PRESET = tsan
build-coverage/build.ninja: PRESET = coverage
build-lto/build.ninja: PRESET = lto
%/build.ninja: CMakePresets.json | deps
	cmake --preset $(PRESET)
	@touch $@
.PRECIOUS: %/build.ninja

build: build/build.ninja deps
	@cmake --build build

asan: build-asan/build.ninja deps
	@cmake --build build-asan

wheel: dist/wheel.stamp
# Tests, references, cases and pages are not part of the wheel.
dist/wheel.stamp: pyproject.toml CMakeLists.txt scripts/wheel.sh $(shell find include src cmake python \
    -name testing -prune -o -type f -not -name '*.pyc' -not -name '*.md' -not -name test.cc \
    -not -name reference.cc -not -name cases.txt -print)
	@scripts/install_deps.sh build venv
	@scripts/wheel.sh
	@touch $@

# Without clang-14 one test is skipped.
test:
	-@scripts/install_deps.sh clients
	@scripts/run_tests.sh release asan python

test-torch:
	@scripts/run_tests.sh torch

run: build/build.ninja deps
	@scripts/run.sh

lint:
	@scripts/install_deps.sh build lint venv
	@scripts/lint.sh

# A warning fails the link. The build is not optimised, because inlining removes types before the link sees them. It has
# one instruction set: with several, g++ 12 does not report a type that two files define.
odr: build-lto/build.ninja deps
	@cmake --build build-lto --target mluop

fuzz:
	@scripts/install_deps.sh build fuzz
	@$(MAKE) --no-print-directory build-fuzz/build.ninja
	@cmake --build build-fuzz --target fuzz_calls fuzz_cases fuzz_descriptors fuzz_runtime
	@scripts/fuzz.sh

load: build
	LOAD_CALLS=$${LOAD_CALLS:-100000} MEMORY_CALLS=$${MEMORY_CALLS:-1000000} build/tests/mluops_load_tests

tsan: build-tsan/build.ninja deps
	@cmake --build build-tsan --target mluops_load_tests mluops_thread_start_tests mluops_thread_tests \
	  mluops_mlu_fault_tests mluops_mlu_document_tests mluops_mlu_intrinsics_tests
	@ctest --preset tsan

valgrind: build/build.ninja deps
	@scripts/install_deps.sh valgrind
	@# buffer.cc tells memcheck about its buffers if the header was there when it was compiled.
	@object=CMakeFiles/mluops_testing.dir/src/testing/buffer.cc.o; \
	  ninja -C build -t deps $$object | grep -q valgrind/ || rm -f build/$$object
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

# Goes on where an interrupted run stopped.
nightly:
	@scripts/nightly.py $(STEPS)

package: build wheel
	@scripts/install_deps.sh package
	@scripts/package.sh
	@packaging/check.sh

package-test:
	@scripts/install_deps.sh package fresh-root
	@tests/install/packages.sh

abi: deps
	@scripts/install_deps.sh abi
	@scripts/abi.sh check

docs:
	@scripts/install_deps.sh venv
	@scripts/docs.sh

clean:
	rm -rf build build-aarch64 build-asan build-clang build-coverage build-fresh build-fuzz build-gpu build-lint build-lto \
	  build-abi build-mutants build-nightly build-package build-site build-static build-tsan build-wheel dist site .venv-*
