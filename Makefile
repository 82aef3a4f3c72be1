# What one types. CMake does the work (presets in CMakePresets.json); tools/setup brings what is missing.
BUILD := build

# As many jobs as there are cores, and 1.5 GB of free memory for each: what a file with LibTorch takes.
JOBS ?= $(shell awk -v cores=$$(nproc) '/MemAvailable/ { n = int($$2 / 1.5e6); print n < 1 ? 1 : n < cores ? n : cores }' /proc/meminfo)
ARGS ?=

.PHONY: all build run test bench check format setup deps-prefix clean help print-jobs
all: build

help:
	@sed -n 's/^# \(make.*\)/\1/p' Makefile

# make              build the programs and the tests: build/bin/redraft, build/bin/redraft-runner
# make run          build, and run the scenario suite (ARGS="--filter dual-drafter*")
# make test         build, and run the tests
# make bench        build the benchmarks: build/bench
# make check        the long forms: clang-tidy of all files, TSan without LibTorch, everything under ASan and UBSan
# make format       format all C++ files
# make setup        only bring what the build needs (the others do it by themselves)
# make deps-prefix  gather the small libraries under .deps/prefix, for a machine with no network
# make clean        remove the build folders; what was fetched stays

setup:
	@tools/setup

build: setup
	@test -f $(BUILD)/build.ninja || cmake --preset dev
	@cmake --build $(BUILD) -j $(JOBS)

run: build
	@$(BUILD)/bin/redraft run $(ARGS)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(ARGS)

bench: setup
	@test -f $(BUILD)/build.ninja || cmake --preset dev
	@cmake --build $(BUILD) -j $(JOBS) --target benchmarks

check:
	@tools/check_all

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

deps-prefix:
	@tools/deps_prefix

clean:
	@rm -rf build build-*

print-jobs:
	@echo $(JOBS)
