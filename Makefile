# Every command of the project. `make help` says what each is for.

SHELL := /bin/bash
CARGO ?= cargo
FUZZ_SECONDS ?= 60
FUZZ ?=
CARGO_DENY := 0.20.2
BENCH ?=
MACHINES ?= x86_64 aarch64
NEEDS_CARGO = command -v $(CARGO) >/dev/null || { echo "make $@: cargo is missing: install Rust from https://rustup.rs, open a new shell and run make $@ again" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help up build dashboard profile dist static deb rpm site test-container test-machine test-package test-static test-takeover test test-long browser testssl h2spec lint deny golden-nginx bench bench-cache bench-clients bench-instructions bench-object-cache bench-passing bench-recipes bench-reloads bench-scale bench-shield bench-slow-clients bench-small-machine fuzz soak clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

build: ## the release binary, target/release/myriad
	$(CARGO) build --release --package myriad

profile: ## renews packaging/profile: what of the binary requests run through, as the bench asks them (STATIC=1: of the static binary)
	@scripts/install-packages up bench
	@CARGO="$(CARGO)" scripts/train $(if $(STATIC),--static)

dist: ## the binary of the packages, target/dist/myriad: stripped, with no path of this machine in it
	@CARGO="$(CARGO)" scripts/dist

static: ## binaries that need no library, for x86-64 and 64-bit ARM (MACHINES=aarch64): target/*-unknown-linux-musl/dist/myriad
	@for machine in $(MACHINES); do CARGO="$(CARGO)" scripts/dist --static $$machine || exit 1; done

test-static: static ## these binaries in a root with nothing else: a page by HTTP and HTTPS, ARM by QEMU (as root)
	@scripts/install-packages test-static
	packaging/test-static $(foreach machine,$(MACHINES),target/$(machine)-unknown-linux-musl/dist/myriad)

deb: ## the Debian package, in target/packages
	@scripts/install-packages package
	@$(MAKE) --no-print-directory dist
	@CARGO="$(CARGO)" packaging/build-deb

rpm: ## the RPM of the same files, in target/packages
	@scripts/install-packages package
	@$(MAKE) --no-print-directory dist
	@CARGO="$(CARGO)" packaging/build-rpm

site: ## docs/ as a site with a search, in target/site
	@scripts/docs-site

test-package: ## the package on bare roots of Debian 12 and 13: install, page over HTTPS, upgrade under load, purge (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package
	@scripts/install-pebble
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	MYRIAD_COMPRESSION=none MYRIAD_VERSION=999 CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	packaging/test-package target/packages/myriad_[0-8]*.deb target/packages/myriad_999_*.deb

test-machine: ## the package on a Debian 12 and 13 that is booted for it: systemd, AppArmor, WordPress, 50,000 connections, reboot (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package machine up
	@$(MAKE) --no-print-directory build
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/release/myriad
	MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	MYRIAD_COMPRESSION=none MYRIAD_VERSION=999 CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	packaging/test-machine target/packages/myriad_[0-8]*.deb target/packages/myriad_999_*.deb

test-takeover: ## myriad takeover under a real systemd: nginx, Myriad, nginx again, in a booted root of Debian (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	packaging/test-takeover "$$(MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad)"

test-container: ## the container file and the compose file by podman: WordPress, reload, plugin, faults, stop (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package container
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	packaging/test-container "$$(MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad)"

dashboard: ## the page of the dashboard, dashboard/built, made of its source (commit it, then make build)
	@scripts/install-packages dashboard
	@cd dashboard && npm ci --silent --no-audit --no-fund && npm run --silent build

up: ## a real WordPress behind Myriad, on localhost:8080 (PORT=..., SITE=...)
	@$(NEEDS_CARGO)
	@scripts/install-packages up
	@$(MAKE) --no-print-directory build
	@PORT=$(or $(PORT),8080) SITE=$(or $(SITE),.site) scripts/up

lint: ## layers, formatting, clippy
	scripts/check-layers --self-check
	scripts/check-layers
	scripts/compare-configurations --self-check
	scripts/deny --self-check
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

deny: ## licences, sources, duplicates of the dependencies, and advisories against them (deny.toml)
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked --version $(CARGO_DENY) cargo-deny
	@CARGO="$(CARGO)" scripts/deny

test: ## everything that must pass before a change lands
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	@scripts/install-pebble
	@scripts/install-h2spec
	@scripts/check-dashboard
	@$(MAKE) --no-print-directory lint deny
	set -o pipefail; $(CARGO) test --workspace --no-run --message-format=json-render-diagnostics --lib --bins --tests | $(TESTED) scripts/run-test-programs
	$(if $(WITH_EXAMPLES),$(CARGO) test --doc --no-fail-fast $(WITH_EXAMPLES))

# The binary that this same command builds. Built by itself, as single tests do, its dependencies have other features, and are all
# compiled once more.
TESTED = MYRIAD_TEST_BINARY=$${MYRIAD_TEST_BINARY:-$$(realpath -m "$${CARGO_TARGET_DIR:-target}")/debug/myriad}

# Crates whose documentation holds code that runs: rustdoc takes a second or two for each crate, also where there is none.
WITH_EXAMPLES = $(shell find crates -name '*.rs' -exec awk '/^ *\/\/[\/!] ```/ { if (FILENAME != file) inside = 0; file = FILENAME; inside = !inside; \
	if (inside && $$0 !~ /```(text|ignore|sh|nginx)$$/) print "--package", FILENAME }' {} + | sed 's|crates/\([^/]*\)/.*|\1|' | sort -u)

test-long: ## the models of the cache and of QPACK over 3000 seeds, and 200 kills of the server under writes and purges
	@$(NEEDS_CARGO)
	MYRIAD_MODEL_SEEDS=3000 $(CARGO) test --quiet --package myriad-store --package myriad-http --lib model
	MYRIAD_KILL_ROUNDS=200 $(CARGO) test --quiet --package myriad-tests --test disk --test purge_kill -- killed

browser: ## what Chromium makes of HTTPS and HTTP/3 (`make test` asks it, too)
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	$(CARGO) test --package myriad-tests --test browser

testssl: ## all that testssl.sh looks for, against the preset by HTTPS (`make test` asks for the quick half)
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	@scripts/install-pebble
	MYRIAD_TESTSSL=full $(CARGO) test --quiet --package myriad-tests --test hygiene

h2spec: ## the conformance suite of HTTP/2, over TLS and with prior knowledge (`make test` runs it, too)
	@$(NEEDS_CARGO)
	@scripts/install-h2spec
	$(CARGO) test --quiet --package myriad-tests --test h2spec -- --nocapture

golden-nginx: ## the golden tests against the installed nginx: is what they expect its behaviour? (NGINX=/path/to/nginx)
	@$(NEEDS_CARGO)
	MYRIAD_GOLDEN_NGINX=$(or $(NGINX),/usr/sbin/nginx) $(CARGO) test --quiet --package myriad-tests --test golden

# What packages hold is what is measured, where MYRIAD names no other binary.
MEASURED = MYRIAD=$${MYRIAD:-$$(CARGO="$(CARGO)" scripts/dist)} && export MYRIAD

bench: ## Myriad against nginx, Varnish and the floor (BENCH="--rows home-gzip --rounds 3"); writes bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/bench.py $(BENCH)

bench-recipes: ## the published ab runs, against Apache, nginx, Varnish, HAProxy and Myriad; adds to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/recipes.py $(BENCH)

bench-cache: ## a million pages, hit rates, purges, one second's validity, beside nginx and Varnish; adds to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/cache.py $(BENCH)

bench-passing: ## requests passed on to two origins: Myriad beside nginx and HAProxy; adds to bench/REPORT.md
	@scripts/install-packages bench
	@$(MEASURED) && bench/passing.py $(BENCH)

bench-object-cache: ## queries and milliseconds of WordPress's pages with and without its object cache; adds to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/object_cache.py $(BENCH)

bench-shield: ## a flood of filter URLs, and a PHP ten times as slow, on a real WordPress; adds to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/shield.py $(BENCH)

bench-slow-clients: ## what visitors feel beside 5,000 slow heads, bodies and readers, nginx beside it (BENCH="--seconds 4 --rounds 1")
	@scripts/install-packages bench
	@$(MEASURED) && bench/slow_clients.py $(BENCH)

bench-small-machine: ## ten minutes of 1,000 clients within 2 GB, and MariaDB gone for one, on a real WordPress (BENCH="--seconds 60 --quick")
	@scripts/install-packages up bench
	@$(MEASURED) && bench/small_machine.py $(BENCH)

soak: ## a real WordPress under traffic while everything fails in turn, for SECONDS (3600): what must hold holds (bench/soak.py)
	@$(NEEDS_CARGO)
	@scripts/install-packages up bench soak
	@$(MAKE) --no-print-directory build
	@bench/soak.py --seconds $(or $(SECONDS),3600) $(SOAK)

bench-scale: ## 5,000 servers with a certificate each and 50,000 locations: check, start, reload, memory, beside nginx
	@scripts/install-packages up bench
	@$(MEASURED) && bench/scale.py $(BENCH)

bench-reloads: ## 200 reloads and 20 upgrades of the binary under load: lost requests, memory (BENCH="--alone": without load)
	@scripts/install-packages up bench
	@$(MEASURED) && bench/reloads.py $(BENCH)

bench-clients: ## 10,000 clients that ask and 50,000 that are silent, beside nginx (BENCH="--idle 12000")
	@scripts/install-packages up bench
	@$(MEASURED) && bench/many_clients.py $(BENCH)

bench-instructions: ## instructions of a hit, the same on a busy machine (BENCH="--before ../old": beside an earlier commit)
	@scripts/install-packages up bench
	@$(MAKE) --no-print-directory build
	@bench/instructions.py $(BENCH)

fuzz: ## every fuzz target for FUZZ_SECONDS each (needs cargo-fuzz); FUZZ="h2 h3" for some of them
	@CARGO=$(CARGO) scripts/fuzz $(FUZZ_SECONDS) $(FUZZ)

clean: ## build output and the site of `make up`
	[ ! -d .site ] || scripts/site stop .site
	rm -rf .site bench/out bench/floor/target bench/quic/target bench/tls/target
	$(CARGO) clean
