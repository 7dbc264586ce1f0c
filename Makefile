# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need.
SHELL := /bin/bash
DAYONE_CACHE ?= $(HOME)/.cache/dayone
export DAYONE_CACHE
export PATH := $(HOME)/.cargo/bin:$(DAYONE_CACHE)/bin:$(PATH)
FUZZ_SECONDS ?= 5
MANIFEST ?= target/dayone.yaml
MANIFEST_IMAGE ?=
# Of the whole workspace, and without a selection of packages: the program that tests start is never an old one.
NEXTEST := cargo nextest run --locked --workspace
# Prints how long each part took.
TIMED := scripts/timed.sh

# What `make build` makes and `make install` installs.
BINARY ?= $(or $(CARGO_TARGET_DIR),target)/release/dayone

.PHONY: demo rack test unit peers vms matrix lint fuzz pictures book bench upgrade manifest setup setup-demo setup-rack build install \
        uninstall release check-release reproducible soak

demo: setup-demo        ## The main job against a real Redfish emulator
	cargo build --locked -p dayone
	scripts/demo.sh

rack: setup-rack        ## A virtual rack: three machines without DHCP boot through their BMCs and call home
	cargo build --locked -p dayone
	scripts/rack.sh

test:                   ## Everything that CI checks; `make fuzz` has eight more fuzz targets
	$(TIMED) set-up scripts/setup-peers.sh
	$(TIMED) lint $(MAKE) --no-print-directory lint
	$(TIMED) "building the tests" $(NEXTEST) --no-run
	$(TIMED) tests $(NEXTEST)
	$(TIMED) "examples in doc comments" cargo test --locked --workspace --doc
	$(TIMED) fuzzing env FUZZ_SERVER=no scripts/fuzz.sh $(FUZZ_SECONDS)

unit:                   ## The tests that need nothing but this repository, where something has changed; or those of CRATE
	scripts/unit.py $(CRATE)

peers:                  ## The tests with real parts at the other end, but for virtual machines
	$(NEXTEST) -E 'package(acceptance) and not binary(machines)'

vms:                    ## The tests that boot virtual machines
	$(NEXTEST) -E 'binary(machines)'

matrix:                 ## Boots beyond those of `make test`: every base in every way, arm64, and bases as they are
	scripts/setup-peers.sh matrix
	$(NEXTEST) -E 'binary(machines)' --run-ignored only

soak:                   ## Servers under load and faults for SOAK_SECONDS, a day by default: no wrong byte, no growth
	SOAK_SECONDS=$(or $(SOAK_SECONDS),86400) $(NEXTEST) --profile soak --no-capture \
	  -E 'binary(serving) and test(=soak::no_wrong_byte)'

lint:                   ## Formatting, clippy, circles of modules, licences
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	python3 scripts/module-circles.py
	cargo deny --locked check licenses bans sources

fuzz:                   ## Every fuzz target for FUZZ_SECONDS
	scripts/fuzz.sh $(FUZZ_SECONDS)

pictures:               ## The pictures in docs/pictures, made anew
	scripts/setup-peers.sh pictures
	scripts/pictures.sh

book:                   ## The documentation as a book: target/book/index.html
	mdbook build

bench:                  ## Ratios against peers, written to docs/benchmarks.md
	scripts/setup-peers.sh bench
	cargo build --locked --release -p dayone
	scripts/bench.sh

upgrade:                ## A server of an earlier version, this one, and the earlier one again, on one data directory; and their commands
	scripts/setup-peers.sh demo
	scripts/upgrade-test.sh

manifest:               ## One file for `kubectl apply`, as MANIFEST, with MANIFEST_IMAGE
	scripts/manifest.sh '$(MANIFEST)' '$(MANIFEST_IMAGE)'

build:                  ## The program with optimisation, for `make install`
	. scripts/source.sh && cargo build --locked --release -p dayone

install:                ## Installs what `make build` made: PREFIX, SYSCONFDIR, UNITDIR, DESTDIR
	scripts/install.sh "$(BINARY)"

uninstall:              ## Removes what `make install` installed, but for settings and data
	scripts/install.sh --uninstall

release:                ## Packages, archives and the container image for amd64 and arm64, in dist/
	scripts/setup-peers.sh release
	cargo fetch --locked
	scripts/release.sh dist

check-release:          ## Checks what is in dist/, as root
	scripts/release/check.sh dist

reproducible:           ## Makes the release in two directories and compares the bytes
	scripts/setup-peers.sh release
	cargo fetch --locked
	scripts/reproducible.sh

setup:
	scripts/setup-peers.sh

setup-demo:
	scripts/setup-peers.sh demo

setup-rack:
	scripts/setup-peers.sh rack
