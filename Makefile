# Two commands for a new user on Debian 12: `make up` and `make test`. Both install what is missing and build first.
.PHONY: help up demo test build binary install install-packages install-test-packages etcd check alone tidy format asan tsan fuzz mutants seams soak robust clang bench deb dist image packages console pictures clean

JOBS ?= $(shell nproc)
RELEASE := build/release
BINARY := build/binary
PREFIX ?= /usr/local
PACKAGES := build/packages

help:
	@echo 'make up      install packages, build, and run a small cluster for kubectl: dray up --demo'
	@echo 'make demo    the same for what needs no cluster: plan, explain, validate on the examples'
	@echo 'make test    install packages, build, and run every test'
	@echo 'make build   everything that tests need: $(RELEASE)/dray, $(RELEASE)/bin'
	@echo 'make install $(PREFIX)/bin/dray, and kubectl-dray beside it for `kubectl dray`'
	@echo 'make deb     Debian packages; make dist: a tarball; make image: a container image. All in $(PACKAGES)'
	@echo 'make bench   the benchmarks behind the numbers in the docs'
	@echo 'make check   what to run before a push: other compiler, sanitizers, includes, clang-tidy, format'
	@echo 'make fuzz    a minute of fuzzing per target (SECONDS_EACH=60 TARGETS=words)'
	@echo 'make mutants whether the random tests would find faults of the allocator'
	@echo 'make soak    the whole system on simulated time, with faults at every seam (SEEDS=10000)'
	@echo 'make robust  servers on three members of etcd while anything dies, hangs or is cut off (DRAY_SECONDS=1800)'
	@echo 'make seams   whether the tests of lost answers, frozen watches and such would find their guards missing'
	@echo 'make console the web page again from console/src (needs npm); make pictures: those of the README (and chromium)'

up: binary
	@$(BINARY)/dray up --demo

demo: binary
	@tools/demo $(BINARY)/dray

test: build
	ctest --preset release -j$(JOBS)

# The command alone: whoever wants to try it does not wait for tests and benchmarks. A folder of its own, because it is optimised when it
# is linked, and linking every test that way would take hours.
binary: install-packages
	@cmake --preset binary >/dev/null
	cmake --build --preset binary -j$(JOBS)

build: install-test-packages etcd
	@cmake --preset release >/dev/null
	cmake --build --preset release -j$(JOBS)

install: binary
	cmake --install $(BINARY) --prefix $(PREFIX)

# What is given away: optimised as a whole, symbols split off. docs/packages.md says what each needs on the machine that it is put on.
packages: install-packages
	@cmake --preset dist >/dev/null
	cmake --build --preset dist -j$(JOBS)

deb: packages
	tools/make-packages deb build/dist $(PACKAGES)

dist: packages
	tools/make-packages tarball build/dist $(PACKAGES)

image: packages
	tools/make-packages image build/dist $(PACKAGES)

# The web page, from its sources to the files that the binary embeds. Only for those who change it.
console:
	cd console && npm ci --ignore-scripts --no-progress && node build.mjs
	@tools/check-console

# What the README shows: a made-up fleet, and what the console says of the demo.
pictures: build
	cd console/test && npm ci --ignore-scripts --no-progress && DRAY_BINARY=$(CURDIR)/$(RELEASE)/dray node pictures.mjs ../../docs/pictures

install-packages:
	@tools/install-packages

# A newer etcd than Debian 12's, for tests. Where it cannot be had, they say that they are skipped.
etcd:
	@tools/fetch-etcd build/etcd || true

install-test-packages:
	@tools/install-packages --tests

# Linked as dray is, which takes long; `make test` only sees to it that each benchmark runs.
bench: install-packages
	@cmake --preset binary >/dev/null
	cmake --build --preset binary -j$(JOBS) --target benchmarks
	$(BINARY)/bin/benchmarks

# The sanitizer and second-compiler builds run the same tests.
asan tsan clang: install-test-packages
	@cmake --preset $@ >/dev/null
	cmake --build --preset $@ -j$(JOBS)
	ctest --preset $@ -j$(JOBS)

fuzz: install-packages
	@cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz -j$(JOBS) --target fuzzers
	tools/fuzz-all build/fuzz/bin $${SECONDS_EACH:-60} $(TARGETS)

# The allocator a second time, with faults (test/mutants/README.md).
mutants: install-packages
	@cmake --preset release >/dev/null
	cmake --build --preset release -j$(JOBS) --target allocator_mutants
	$(RELEASE)/bin/allocator_mutants --jobs $(JOBS)

# The whole system on simulated time (test/system/README.md). Ends at the first finding, and says how to repeat it.
soak: install-packages
	@cmake --preset release >/dev/null
	cmake --build --preset release -j$(JOBS) --target system_soak
	$(RELEASE)/bin/system_soak --first $${FIRST:-1} --seeds $${SEEDS:-10000}

# Several servers, one truth, for half an hour (test/parts/README.md). Ends with what clients were told that is not so.
robust: install-packages etcd
	@cmake --preset release >/dev/null
	cmake --build --preset release -j$(JOBS) --target dray --target parts_test
	DRAY_SECONDS=$${DRAY_SECONDS:-1800} DRAY_SOURCE=$(CURDIR) DRAY_BINARY=$(CURDIR)/$(RELEASE)/dray $(RELEASE)/bin/parts_test

# Guards taken out one at a time, in place (test/mutants/README.md).
seams: install-packages
	cmake --preset release
	tools/seam-faults test/mutants/seams.txt . --build $(RELEASE) --jobs $(JOBS)

format:
	git ls-files '*.h' '*.cc' | xargs clang-format -i

# Reads the sources of the rooms, several at a time as the release build compiles them; tests are left to the compilers.
tidy: install-packages
	@cmake --preset tidy >/dev/null
	run-clang-tidy -quiet -p build/tidy -j$(JOBS) '(/CMakeFiles/dray_[a-z]+\.dir/Unity/|^$(CURDIR)/src/.*(?<!_test)\.cc$$)'

# Every source alone, as clang reads it: what it uses it includes, and locks are held where they are said to be. Nothing is built.
alone: install-packages
	@cmake --preset clang >/dev/null
	tools/check-alone build/clang --jobs $(JOBS) $(FILES)

check: test asan alone tidy
	cmake --preset dev >/dev/null && cmake --build --preset dev -j$(JOBS) --target all_verify_interface_header_sets
	git ls-files '*.h' '*.cc' | xargs clang-format --dry-run --Werror

clean:
	rm -rf build
