# The front door. Every target sets up what it needs by itself (tools/setup, a no-op when all is there).
# CMake does the work; this file only gives its steps names that are easy to remember.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build/release

.DEFAULT_GOAL := help
.PHONY: help setup setup-build setup-lint build demo check check-long bench install format lint clean distclean

help:
	@echo 'make demo        run the example programs natively and through Suiro on both MPIs, compare their files'
	@echo 'make check       build, run all tests on both MPIs, then the sanitizer build of the unit and MPI tests'
	@echo 'make check-long  the same with more ranks, seeds and rounds'
	@echo 'make bench       measure Suiro, the native MPI-IO and the calibrated limit side by side'
	@echo 'make build       compile into $(BUILD)'
	@echo 'make install     install, PREFIX=$(PREFIX), DESTDIR= in front of it for packagers'
	@echo 'make format      lay out the sources with clang-format'
	@echo 'make lint        the short clang-tidy list over the C++ sources'
	@echo 'make clean       remove what was compiled; distclean removes the Python environments too'

setup:
	@tools/setup

setup-build:
	@tools/setup build

setup-lint:
	@tools/setup lint

build: setup-build
	@tools/build release

demo: setup
	@tools/build release
	build/venv/bin/python examples/run_demo.py --build $(BUILD)

check: setup
	@tools/check

check-long: setup
	@tools/check --long

bench: setup
	@tools/build release
	build/venv/bin/python bench/run_bench.py --build $(BUILD)

# The prefix is part of what is configured (pkg-config file, environment module), so it is passed on to CMake first.
install: setup-build
	@tools/build release -DCMAKE_INSTALL_PREFIX='$(PREFIX)'
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD)

format: setup-lint
	git ls-files '*.c' '*.cc' '*.h' | xargs build/venv-lint/bin/clang-format -i

lint: setup-lint
	@tools/build release
	@tools/lint $(BUILD)

clean:
	rm -rf build/release build/dev build/asan-ubsan build/tsan build/check

distclean:
	rm -rf build
