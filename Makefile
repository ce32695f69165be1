SHELL := /bin/bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.0.0-dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)
SPECTRAL := @stoplight/spectral-cli@6.16.3
AXE     := axe-core@4.14.1
DASHBOARD := github.com/grafana/dashboard-linter@v0.2.0
DASHBOARD_LINTER ?= bin/dashboard-linter
LINTER  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHSTAT := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
NFPM    := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
SBOM    := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
FUZZTIME ?= 20s
PDFTIME  ?= $(FUZZTIME)
COUNT    ?= 6
BENCHTIME ?= 1s
PAYOUTS  ?= 20000000
PROFILE := $(CURDIR)/cmd/pixd/default.pgo
# The packages with benchmarks of their own, which need no engine that is under load.
MEASURED = $(shell grep -rl --include='*_test.go' '^func Benchmark' actors cmd httpapi snapshot wal | xargs -n1 dirname | sort -u | sed 's,^,./,')

# Releases and measurements are compiled with the profile. All else is compiled without it:
# Go would otherwise compile every package a second time.
export GOFLAGS := $(GOFLAGS) -pgo=off

.PHONY: help build release packages run cluster test race lint lint-openapi lint-dashboard console axe fuzz bench bench-big microbench once results profile sim nodes mutations faults cluster-faults
.DEFAULT_GOAL := help

help: ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

build: ## build ./bin/pixd and ./bin/pixbench
	go build -pgo=$(PROFILE) -ldflags "$(LDFLAGS)" -o bin/pixd ./cmd/pixd
	go build -pgo=$(PROFILE) -ldflags "$(LDFLAGS)" -o bin/pixbench ./cmd/pixbench

release: ## build bin/release for VERSION: static binaries, .deb, .rpm, archives, bill of materials, checksums (5 minutes)
	VERSION="$(VERSION)" COMMIT="$(COMMIT)" PROFILE="$(PROFILE)" NFPM="$(NFPM)" SBOM="$(SBOM)" .package/release.sh

packages: ## try the packages in a small Debian with systemd: install, start, upgrade, remove (as root; needs debootstrap and systemd-nspawn)
	.package/try.sh

run: build ## start an engine with a funded demo account in ./pixd-data
	PATH="$(CURDIR)/bin:$$PATH" pixd serve --demo

cluster: build ## start three nodes and the simulator in ./pixd-cluster, with a line that kills the owner while payouts run
	PATH="$(CURDIR)/bin:$$PATH" examples/cluster/up.sh

test: ## run every test
	go vet ./...
	go test ./...

race: ## run every test under the race detector
	go test -race -short ./...

lint: ## check style, structure and that go.mod names what is used
	go mod tidy -diff
	go run $(LINTER) run ./...

lint-openapi: ## check the OpenAPI documents (needs npm)
	npx --yes $(SPECTRAL) lint --fail-severity hint --ruleset docs/openapi/.spectral.yaml docs/openapi/*.yaml

lint-dashboard: ## check the dashboard with Grafana's linter: DASHBOARD_LINTER, or else one that it compiles (minutes)
	@# Its go.mod has a replacement, so that go run and go install refuse it.
	@command -v $(DASHBOARD_LINTER) >/dev/null || { dir=$$(go mod download -json $(DASHBOARD) | sed -n 's/.*"Dir": "\(.*\)",*/\1/p') && cd "$$dir" && go build -o $(CURDIR)/bin/dashboard-linter .; }
	$(DASHBOARD_LINTER) lint --strict examples/grafana/pixd.json

console: ## run the tests of the console in a browser alone
	go test ./cmd/pixd -run TestConsole

axe: ## install axe-core into bin/axe, with which the tests of the console look at its pages (needs npm)
	npm install --silent --no-audit --no-fund --prefix bin/axe $(AXE)
	@echo "export PIXD_AXE=$(CURDIR)/bin/axe/node_modules/axe-core/axe.min.js" >&2

fuzz: ## fuzz what parses, FUZZTIME each (20s, or 3000x)
	go test ./actors/strictjson -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME)
	go test ./actors/scheme/brcode -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME)
	go test ./actors/scheme/provider -run '^$$' -fuzz FuzzReadNotice -fuzztime $(FUZZTIME)
	go test ./actors/scheme/provider -run '^$$' -fuzz FuzzReadRequests -fuzztime $(FUZZTIME)
	go test ./actors/scheme/provider -run '^$$' -fuzz FuzzReadGroup -fuzztime $(FUZZTIME)
	go test ./actors/scheme/provider -run '^$$' -fuzz FuzzReadAnswerLine -fuzztime $(FUZZTIME)
	go test ./httpapi -run '^$$' -fuzz FuzzCanonical -fuzztime $(FUZZTIME)
	go test ./httpapi -run '^$$' -fuzz FuzzFraming -fuzztime $(FUZZTIME)
	go test ./httpapi -run '^$$' -fuzz FuzzFields -fuzztime $(FUZZTIME)
	go test ./httpapi -run '^$$' -fuzz FuzzEvent -fuzztime $(FUZZTIME)
	go test ./actors/webhook -run '^$$' -fuzz FuzzURLs -fuzztime $(FUZZTIME)
	go test ./cmd/pixd -run '^$$' -fuzz FuzzListen -fuzztime $(FUZZTIME)
	go test ./bench -run '^$$' -fuzz FuzzReadReport -fuzztime $(FUZZTIME) -fuzzminimizetime 3x
	go test ./httpapi/receipt -run '^$$' -fuzz FuzzPDF -fuzztime $(PDFTIME) -fuzzminimizetime 5x

bench: ## measure speed and memory against a bare echo server, refunds, webhooks, a million waiting payouts, open cases, a journal's verification, snapshots under load, increments of a store of five million payouts, catching up, and a start on ten million records (45 minutes)
	go test -pgo=$(PROFILE) ./bench -run '^$$' -bench . -benchtime 1x

bench-big: ## measure a store of PAYOUTS payouts (20000000: an hour, 12 GB in TMPDIR) beside an empty one
	PIXD_BENCH_BIG=$(PAYOUTS) go test -pgo=$(PROFILE) ./bench -run '^$$' -bench '^BenchmarkBig$$' -benchtime 1x -timeout 0

microbench: ## measure the work of each package by itself COUNT times (6), each for BENCHTIME (1s): bin/bench.txt, for benchstat (20 minutes)
	@mkdir -p bin
	@set -o pipefail; go test -vet=off -pgo=$(PROFILE) -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(COUNT) -timeout 0 $(MEASURED) | tee bin/bench.txt
	@echo "to compare: go run $(BENCHSTAT) old.txt bin/bench.txt" >&2

once: ## run each of those benchmarks once, to see that it still does its work
	go test -vet=off -run '^$$' -bench . -benchtime 1x $(MEASURED)

results: ## write the tables of docs/results.md anew, from bin/bench.txt
	go run $(BENCHSTAT) -format csv bin/bench.txt | awk -f docs/results.awk \
		-v about="$$(date +%F) on $$(nproc) cores of $$(sed -n 's/^cpu: //p' bin/bench.txt | head -n 1), $$(go env GOVERSION), commit $$(git rev-parse --short=12 HEAD), each benchmark $(COUNT) times for $(BENCHTIME)" > bin/results.md
	sed -i '/^## The work of each package$$/,$$d' docs/results.md
	cat bin/results.md >> docs/results.md

profile: ## measure where an engine under load spends its time, for the compiler: cmd/pixd/default.pgo (a minute)
	go test -trimpath -c -o bin/bench ./bench
	cd bench && for load in CashIn CashOut1000 Balance; do \
		PIXD_BENCH_PROFILE=$(CURDIR)/bin/$$load.profile ../bin/bench -test.run '^$$' -test.bench "^Benchmark$$load$$" -test.benchtime 1x || exit 1; \
	done
	go tool pprof -proto -output=bin/merged.profile bin/CashIn.profile bin/CashOut1000.profile bin/Balance.profile
	gzip -dc bin/merged.profile | LC_ALL=C sed 's|$(CURDIR)|$(shell echo '$(CURDIR)' | sed 's,[^/],.,g')|g' | gzip -n > $(PROFILE)

sim: ## live N lives in the simulation, or the one of SEED
	go test ./actors/simulation -run '^TestLives$$' -count=1 -v -timeout 0 $(if $(SEED),-sim.seed=$(SEED),-sim.n=$(or $(N),1000))

nodes: ## live N lives of several nodes on one log, or the one of SEED
	go test ./cmd/cluster -run '^TestLives$$' -count=1 -v -timeout 0 $(if $(SEED),-sim.seed=$(SEED),-sim.n=$(or $(N),1000))

mutations: ## make each known mutation of the code, or MUTATION, and see that the simulation finds it
	go test ./actors/simulation -run '^TestMutations$$' -count=1 -v -timeout 0 -sim.mutation=$(or $(MUTATION),all)

faults: ## cut the power before each write, fail each write, sync and read once, and close under slow reads
	go test ./wal ./cmd/engine -run '^Test(PowerCut|FailedWrite|FailedDisk|Crash|CloseUnderSlowReads)(FindsMutations)?$$' -count=1 -v -timeout 0
	for n in 1 2 3 4 5 6 7 8; do go test ./cmd/engine -run '^TestFailedDisk$$' -count=1 -v -timeout 0 -faults.from=$$n -faults.step=8 || exit 1; done
	go test ./cmd/engine -run '^TestFailed(File)?Read$$' -count=1 -v -timeout 0 -reads.step=1

cluster-faults: ## kill, stop and cut off nodes of a cluster under RATE payouts a second (1000), the owner KILLS times (50), or only the fault of FAULT (a quarter of an hour)
	go test ./cmd/pixd -run '^TestCluster$(if $(FAULT),Faults,(Members|Upgrade|Clocks|Faults|Packets))$$/$(FAULT)' -count=1 -v -timeout 0 -cluster.long -cluster.kills=$(or $(KILLS),50) -cluster.rate=$(or $(RATE),1000)
