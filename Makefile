# All commands of the project. `make help` lists them.

SHELL := /bin/bash
CARGO ?= cargo
FUZZ_SECONDS ?= 60
FUZZ ?=
CARGO_DENY := 0.20.2
MDBOOK := 0.5.4
BENCH ?=
MACHINES ?= x86_64 aarch64
NEEDS_CARGO = command -v $(CARGO) >/dev/null || { echo "make $@: cargo is missing: install Rust from https://rustup.rs, open a new shell and run make $@ again" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help up cluster try-freshness try-leaks try-optimizer try-shop build cluster-simulation cluster-traffic dashboard profile dist static deb rpm site test-compose test-container test-kubernetes test-machine test-package test-static test-takeover test test-cluster-acme test-long browser testssl h2spec lint check-features test-features check check-hot-path deny golden-nginx bench bench-cache bench-clients bench-cluster bench-instructions bench-object-cache bench-passing bench-recipes bench-reloads bench-scale bench-shield bench-slow-clients bench-small-machine fuzz soak clean

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-27s %s\n", $$1, $$2 }'

build: ## build the release binary, target/release/myriad
	$(CARGO) build --release --package myriad

profile: ## record packaging/profile, the profile for optimized packages, with the benchmark (STATIC=1: for the static binary)
	@scripts/install-packages up bench
	@CARGO="$(CARGO)" scripts/train $(if $(STATIC),--static)

dist: ## build the binary of the packages, target/dist/myriad: stripped, without paths of this machine
	@CARGO="$(CARGO)" scripts/dist

static: ## build static binaries for x86-64 and 64-bit ARM (MACHINES=aarch64): target/*-unknown-linux-musl/dist/myriad
	@for machine in $(MACHINES); do CARGO="$(CARGO)" scripts/dist --static $$machine || exit 1; done

test-static: static ## test the static binaries in an empty root: a page over HTTP and HTTPS, ARM with QEMU (as root)
	@scripts/install-packages test-static
	packaging/test-static $(foreach machine,$(MACHINES),target/$(machine)-unknown-linux-musl/dist/myriad)

deb: ## build the Debian package, in target/packages
	@scripts/install-packages package
	@$(MAKE) --no-print-directory dist
	@CARGO="$(CARGO)" packaging/build-deb

rpm: ## build the RPM with the same files, in target/packages
	@scripts/install-packages package
	@$(MAKE) --no-print-directory dist
	@CARGO="$(CARGO)" packaging/build-rpm

site: ## build the documentation site, in target/site (installs mdBook on first use)
	@$(NEEDS_CARGO)
	@[ "$$(mdbook --version 2>/dev/null)" = "mdbook v$(MDBOOK)" ] || $(CARGO) install --quiet --locked --version $(MDBOOK) --no-default-features --features search mdbook
	@scripts/build-docs

test-package: ## test the package in minimal Debian 12 and 13 roots: install, HTTPS, upgrade under load, purge (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package
	@scripts/install-pebble
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	MYRIAD_COMPRESSION=none MYRIAD_VERSION=999 CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	packaging/test-package target/packages/myriad_[0-8]*.deb target/packages/myriad_999_*.deb

test-kubernetes: ## validate the Kubernetes manifest against the schemas of Kubernetes, and its configuration with Myriad
	@$(NEEDS_CARGO)
	@scripts/install-packages kubernetes
	$(CARGO) build --package myriad
	python3 -m venv target/kubernetes && target/kubernetes/bin/pip install --quiet kubernetes-validate==1.37.0
	target/kubernetes/bin/python packaging/test-kubernetes target/debug/myriad

test-compose: ## validate the compose files against the compose specification, and the cluster's configuration with Myriad and HAProxy
	@$(NEEDS_CARGO)
	@scripts/install-packages compose
	$(CARGO) build --package myriad
	python3 -m venv target/compose && target/compose/bin/pip install --quiet check-jsonschema==0.39.0 PyYAML==6.0.4
	target/compose/bin/python packaging/test-compose target/debug/myriad

test-machine: ## test the package in Debian 12 and 13 virtual machines: systemd, AppArmor, WordPress, 50,000 connections, reboot (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package machine up
	@$(MAKE) --no-print-directory build
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/release/myriad
	MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	MYRIAD_COMPRESSION=none MYRIAD_VERSION=999 CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad
	packaging/test-machine target/packages/myriad_[0-8]*.deb target/packages/myriad_999_*.deb

test-takeover: ## test myriad takeover with a real systemd and nginx, and its undo, in a booted Debian root (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	packaging/test-takeover "$$(MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad)"

test-container: ## test the container image and the compose file with podman: WordPress, reload, plugin, faults, stop (as root)
	@$(NEEDS_CARGO)
	@scripts/install-packages package container
	$(CARGO) build --package myriad
	mkdir -p target/packages/test && strip -o target/packages/test/myriad target/debug/myriad
	packaging/test-container "$$(MYRIAD_COMPRESSION=none CARGO="$(CARGO)" packaging/build-deb target/packages/test/myriad)"

dashboard: ## build the dashboard page, dashboard/built (commit it, then run make build)
	@scripts/install-packages dashboard
	@cd dashboard && npm ci --silent --no-audit --no-fund && npm run --silent build

# The presets need no other features. Without them the build takes half the time.
UP_FEATURES = brotli,http3,nginx-extras,tools,zstd

up: ## run WordPress with Myriad on localhost:8080 (PORT=..., SITE=...)
	@$(NEEDS_CARGO)
	@command -v cc >/dev/null || scripts/install-packages up
	@scripts/install-packages up & packages=$$!; $(CARGO) build --profile demo --package myriad --no-default-features --features $(UP_FEATURES); built=$$?; wait $$packages && exit $$built
	@PORT=$(or $(PORT),8080) SITE=$(or $(SITE),.site) MYRIAD=target/demo/myriad scripts/up

cluster: ## run WordPress with three nodes of Myriad behind HAProxy, and Redis, on localhost:8080 (PORT=..., SITE=...)
	@$(NEEDS_CARGO)
	@scripts/install-packages up cluster
	@$(CARGO) build --profile demo --package myriad --no-default-features --features $(UP_FEATURES),cluster
	@PORT=$(or $(PORT),8080) SITE=$(or $(SITE),.site) MYRIAD=target/demo/myriad scripts/cluster

# Folders for try-shop: WordPress, its plugins `woocommerce` and `elementor`, and its themes.
CORE = $(SITE)/core
PLUGINS = $(SITE)/plugins
THEMES = $(wildcard $(SITE)/themes/*)

try-shop: ## try a shop with Myriad, about an hour (SITE=FOLDER with core, plugins and themes, or CORE=... PLUGINS=... THEMES="..."; RELEASE=trixie: in a root of that Debian release, as root)
	@scripts/install-packages up try-shop
	@$(MAKE) --no-print-directory build
	@scripts/try-shop --core "$(CORE)" --plugins "$(PLUGINS)" $(addprefix --theme ,$(THEMES)) --myriad target/release/myriad --prefix target/shop-trial $(addprefix --release ,$(RELEASE)) $(SHOP)

try-freshness: ## measure hit ratios and the age of old content, about 110 minutes (SITE=FOLDER as for try-shop; FRESHNESS="--minutes 10")
	@scripts/install-packages up
	@$(MAKE) --no-print-directory build
	@scripts/try-freshness --core "$(CORE)" --plugins "$(PLUGINS)" --theme "$(firstword $(THEMES))" --myriad target/release/myriad --prefix target/freshness-trial $(FRESHNESS)

try-leaks: ## try the leak guard: seeded leaks in three applications, false alarms on 100,000 pages, about 30 minutes (SITE=FOLDER as for try-shop; LEAKS="--only seeded")
	@scripts/install-packages up try-leaks
	@$(MAKE) --no-print-directory build
	@scripts/try-leaks --core "$(CORE)" --plugins "$(PLUGINS)" --myriad target/release/myriad --prefix target/leak-trial $(LEAKS)

try-optimizer: ## compare pages with and without the page optimizer in Chromium, two minutes for each theme (SITE=FOLDER with core and themes; OPTIMIZER="--theme twentyten --compare off")
	@scripts/install-packages up try-shop
	@$(MAKE) --no-print-directory build
	@scripts/try-optimizer --core "$(CORE)" --themes "$(SITE)/themes" --myriad target/release/myriad --prefix target/optimizer-trial $(OPTIMIZER)

lint: ## check layers, words, formatting and clippy
	scripts/check-layers --self-check
	scripts/check-layers
	scripts/compare-configurations --self-check
	scripts/deny --self-check
	scripts/build-docs --self-check
	scripts/check-words --self-check
	scripts/check-words
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

check-features: ## check that the binary without optional features compiles (part of `make test`)
	@$(NEEDS_CARGO)
	@CARGO="$(CARGO)" scripts/check-features

test-features: ## run the tests that apply to the binary without optional features
	@$(NEEDS_CARGO)
	@CARGO="$(CARGO)" scripts/check-features --test

deny: ## check licences, sources, duplicates and advisories of the dependencies (deny.toml)
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked --version $(CARGO_DENY) cargo-deny
	@CARGO="$(CARGO)" scripts/deny

# Incremental compilation takes gigabytes of disk, and saves nothing in a new checkout.
test check-hot-path: export CARGO_INCREMENTAL ?= 0

test: ## run all checks and tests that must pass before a change is merged
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	@scripts/install-pebble
	@scripts/install-h2spec
	@scripts/check-dashboard
	@$(MAKE) --no-print-directory lint check-features deny
	set -o pipefail; $(BUILD_TESTS) --message-format=json-render-diagnostics | MYRIAD_TEST_BINARY=$(TESTED) scripts/run-test-programs
	@bench/hot_path.py "$(TESTED)"
	$(if $(WITH_EXAMPLES),$(CARGO) test --doc --no-fail-fast $(WITH_EXAMPLES))

# System tests and the count of instructions use the binary that this command builds. Built separately, its dependencies would have
# other features and would be compiled a second time.
BUILD_TESTS = $(CARGO) test --workspace --no-run --lib --bins --tests
TESTED = $${MYRIAD_TEST_BINARY:-$$(realpath -m "$${CARGO_TARGET_DIR:-target}")/debug/myriad}

# Crates with runnable code in their documentation. rustdoc takes one or two seconds per crate, even without any code.
WITH_EXAMPLES = $(shell find crates -name '*.rs' -exec awk '/^ *\/\/[\/!] ```/ { if (FILENAME != file) inside = 0; file = FILENAME; inside = !inside; \
	if (inside && $$0 !~ /```(text|ignore|sh|nginx)$$/) print "--package", FILENAME }' {} + | sed 's|crates/\([^/]*\)/.*|\1|' | sort -u)

check-hot-path: ## count the instructions of ten kinds of request; fails if one costs over 1.5% more than recorded (part of `make test`)
	@$(BUILD_TESTS) --quiet
	@bench/hot_path.py "$(TESTED)"

check: ## format, lint, unit tests and tests without sockets, for use while changing the code; `make test` has all checks
	@$(NEEDS_CARGO)
	@$(MAKE) --no-print-directory lint
	$(CARGO) test --quiet --workspace --lib --bins --test in_process

cluster-simulation: ## simulate a cluster with faults of nodes, network and Valkey (SEEDS=10000), about half an hour on two processors; and prove that it finds seeded bugs
	@$(NEEDS_CARGO)
	MYRIAD_CLUSTER_SEEDS=$(or $(SEEDS),10000) $(CARGO) test --release --package myriad-cluster --lib simulation -- --nocapture

cluster-traffic: ## count the commands and bytes at Valkey of simulated clusters of 3, 20 and 100 nodes
	@$(NEEDS_CARGO)
	@for load in "3 100" "20 100" "100 0" "100 100" "100 1000"; do set -- $$load; \
		MYRIAD_CLUSTER_NODES=$$1 MYRIAD_CLUSTER_PURGES=$$2 $(CARGO) test --quiet --package myriad-cluster --lib simulation::load -- --nocapture || exit 1; done

test-cluster-acme: ## start twenty nodes at once without a certificate (NODES=20), with a real Pebble and Redis: one order per certificate, all serve it
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	@scripts/install-pebble
	$(CARGO) build --package myriad
	MYRIAD_CLUSTER_ACME_NODES=$(or $(NODES),20) MYRIAD_TEST_BINARY=$$(realpath -m "$${CARGO_TARGET_DIR:-target}")/debug/myriad $(CARGO) test --package myriad-tests --test cluster -- --test-threads=1 one_order

test-long: ## run the model tests of the cache and of QPACK with 3000 seeds, and kill the server 200 times during writes and purges
	@$(NEEDS_CARGO)
	MYRIAD_MODEL_SEEDS=3000 $(CARGO) test --quiet --package myriad-store --package myriad-http --lib model
	MYRIAD_KILL_ROUNDS=200 $(CARGO) test --quiet --package myriad-tests --test disk --test purge_kill -- killed

browser: ## test HTTPS and HTTP/3 with Chromium (part of `make test`)
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	$(CARGO) test --package myriad-tests --test browser

testssl: ## run all checks of testssl.sh against the preset (`make test` runs the fast half)
	@$(NEEDS_CARGO)
	@scripts/install-packages test
	@scripts/install-pebble
	MYRIAD_TESTSSL=full $(CARGO) test --quiet --package myriad-tests --test testssl

h2spec: ## run the HTTP/2 conformance suite, over TLS and with prior knowledge (part of `make test`)
	@$(NEEDS_CARGO)
	@scripts/install-h2spec
	$(CARGO) test --quiet --package myriad-tests --test h2spec -- --nocapture

golden-nginx: ## run the golden tests against the installed nginx, to check what they expect (NGINX=/path/to/nginx)
	@$(NEEDS_CARGO)
	MYRIAD_GOLDEN_NGINX=$(or $(NGINX),/usr/sbin/nginx) $(CARGO) test --quiet --package myriad-tests --test golden

# The benchmarks measure the binary of the packages, unless MYRIAD names another one.
MEASURED = MYRIAD=$${MYRIAD:-$$(CARGO="$(CARGO)" scripts/dist)} && export MYRIAD

bench: ## compare Myriad with nginx, Varnish and a minimal server (BENCH="--rows home-gzip --rounds 3"); writes bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/bench.py $(BENCH)

bench-recipes: ## repeat published ab runs with Apache, nginx, Varnish, HAProxy and Myriad; writes to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/recipes.py $(BENCH)

bench-cache: ## measure the cache: a million pages, hit rates, purges, with nginx and Varnish; writes to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/cache.py $(BENCH)

bench-passing: ## measure forwarding to two upstreams: Myriad, nginx and HAProxy; writes to bench/REPORT.md
	@scripts/install-packages bench
	@$(MEASURED) && bench/passing.py $(BENCH)

bench-object-cache: ## measure WordPress with and without an object cache: queries and milliseconds; writes to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/object_cache.py $(BENCH)

bench-shield: ## measure the protection of PHP: a flood of filter URLs, and a slow PHP, on WordPress; writes to bench/REPORT.md
	@scripts/install-packages up bench
	@$(MEASURED) && bench/shield.py $(BENCH)

bench-slow-clients: ## measure other visitors during 5,000 slow heads, bodies and reads, compared with nginx (BENCH="--seconds 4 --rounds 1")
	@scripts/install-packages bench
	@$(MEASURED) && bench/slow_clients.py $(BENCH)

bench-small-machine: ## run WordPress with 1,000 clients within 2 GB for ten minutes, then one without MariaDB (BENCH="--seconds 60 --quick")
	@scripts/install-packages up bench
	@$(MEASURED) && bench/small_machine.py $(BENCH)

soak: ## run WordPress under load while everything around Myriad fails in turn, for SECONDS (3600) (bench/soak.py)
	@$(NEEDS_CARGO)
	@scripts/install-packages up bench soak
	@$(MAKE) --no-print-directory build
	@bench/soak.py --seconds $(or $(SECONDS),3600) $(SOAK)

bench-scale: ## measure 5,000 servers with certificates and 50,000 locations: check, start, reload, memory, compared with nginx
	@scripts/install-packages up bench
	@$(MEASURED) && bench/scale.py $(BENCH)

bench-reloads: ## count lost requests and memory during 200 reloads and 20 upgrades under load (BENCH="--alone": without load)
	@scripts/install-packages up bench
	@$(MEASURED) && bench/reloads.py $(BENCH)

bench-clients: ## measure 10,000 active and 50,000 idle connections, compared with nginx (BENCH="--idle 12000")
	@scripts/install-packages up bench
	@$(MEASURED) && bench/many_clients.py $(BENCH)

bench-cluster: ## measure cold pages and 10,000 purges on three nodes and Redis under load: fetches, time, lost and unconfirmed purges (BENCH="--purges 1000 --cold 100")
	@scripts/install-packages up bench
	@$(MEASURED) && bench/cluster.py $(BENCH)

bench-instructions: ## count the instructions of a hit, independent of load (BENCH="--before ../old": compare with an earlier commit)
	@scripts/install-packages up bench
	@$(MAKE) --no-print-directory build
	@bench/instructions.py $(BENCH)

fuzz: ## run every fuzz target for FUZZ_SECONDS (needs cargo-fuzz); FUZZ="h2 h3" for some targets
	@CARGO=$(CARGO) scripts/fuzz $(FUZZ_SECONDS) $(FUZZ)

clean: ## remove build output and the site of `make up`
	[ ! -d .site ] || scripts/site stop .site
	rm -rf .site bench/out bench/floor/target bench/quic/target bench/tls/target
	$(CARGO) clean
