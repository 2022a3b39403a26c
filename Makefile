# SPDX-License-Identifier: Apache-2.0
# The doors of the house. CMake and Ninja do the work; `make help` lists the targets.
.DEFAULT_GOAL := all
.PHONY: all help run test asan tsan lint fuzz bench soak smbtorture crash install uninstall clean release deps deps-test npm docs static oci deb npm-package package-test clients sdks arm64 arm64-test

ARGS ?=
SECONDS ?= 60
MINUTES ?= 60
ROUNDS ?= 1000
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
JOBS ?= $(shell nproc)
BIN := build/release/zaffre

all: release ## build build/release/zaffre

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  make run ARGS="--blobPort 11000"    make fuzz SECONDS=600    make soak MINUTES=60    make crash ROUNDS=1000'

# What the explorer's page needs is installed where it can be; the program is built without the page where it cannot.
deps:
	@tools/install-packages build
	@tools/install-packages web || true
	@if command -v npm >/dev/null; then grep -ls 'The page is absent' build/*/explorer_assets.c | xargs -r rm -f; fi

deps-test:
	@tools/install-packages build web test static

npm: deps-test
	@tools/npm-ci test

release: deps
	@mkdir -p build
	@cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DZAFFRE_TESTS=OFF -DZAFFRE_MUTANTS=OFF >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@ninja -C build/release -j $(JOBS) zaffre

run: release ## start the server in development mode on ./data; flags through ARGS="..."
	@exec $(BIN) serve --location ./data $(ARGS)

test: npm ## install what tests need, build, run everything
	@tools/run-tests build/test

asan: npm ## the same, built by clang, under the address and undefined behaviour sanitizers
	@tools/run-tests build/clang-asan -DCMAKE_C_COMPILER=clang -DZAFFRE_SANITIZE=address

tsan: npm ## the same under the thread sanitizer
	@tools/run-tests build/tsan -DZAFFRE_SANITIZE=thread

lint: deps-test ## clang-format, clang-tidy, cppcheck and the house rules
	@tools/lint

fuzz: deps-test ## run each fuzz target for SECONDS
	@test/proof/fuzz/run.sh $(SECONDS)

bench: release ## the benchmark beside its peers
	@tools/install-packages build test bench
	@bench/run $(ARGS)

soak: npm release ## linearizability and load under kill -9 for MINUTES
	@tools/run-long soak $(MINUTES)

smbtorture: npm release ## all suites of Samba's smbtorture against the SMB front end, compared with test/smb/must-pass.txt
	@$(if $(findstring --beside-samba,$(ARGS)),tools/install-packages bench)
	@PATH="$$(tools/node-dir):$$PATH" ZAFFRE_BIN=$(BIN) node test/smb/torture.mjs $(ARGS)

crash: npm release ## ROUNDS of kill -9 and power cuts
	@tools/run-long crash $(ROUNDS)

docs: release ## docs/compat.md from the table of operations
	@$(BIN) compat > docs/compat.md

static: deps ## build/static/zaffre: one file that runs in an empty root
	@tools/install-packages build static
	@mkdir -p build
	@cmake -S . -B build/static -G Ninja -DCMAKE_BUILD_TYPE=Release -DZAFFRE_STATIC=ON -DZAFFRE_TESTS=OFF -DZAFFRE_MUTANTS=OFF >build/static.log 2>&1 || { cat build/static.log; exit 1; }
	@ninja -C build/static -j $(JOBS) zaffre >build/static.log 2>&1 || { tail -n 40 build/static.log; exit 1; }
	@objcopy --only-keep-debug build/static/zaffre build/static/zaffre.debug
	@strip --strip-debug -o build/static/stripped build/static/zaffre && mv build/static/stripped build/static/zaffre

oci: static ## build/oci: an OCI image layout
	@tools/package-oci build/static/zaffre build/oci

deb: static ## build/deb: a Debian package
	@tools/package-deb build/static/zaffre build/deb

npm-package: static ## build/npm: an npm package with the program inside
	@PATH="$$(tools/node-dir):$$PATH" tools/package-npm build/npm build/static/zaffre

# One file of tests at a time: each of them builds in build/static.
package-test: npm static ## the packages in a fresh Debian root, and two builds from two places
	@tools/install-packages packages
	@ZAFFRE_TEST_LONG=1 ZAFFRE_TEST_JOBS=1 ZAFFRE_TESTS='test/packages' tools/run-tests build/test

arm64: deps ## build/arm64/zaffre: the static program for arm64, by Debian's cross compiler
	@tools/install-packages build static arm64
	@tools/arm64-root
	@cmake -S . -B build/arm64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DZAFFRE_STATIC=ON -DZAFFRE_TESTS=OFF -DZAFFRE_MUTANTS=OFF >build/arm64.log 2>&1 || { cat build/arm64.log; exit 1; }
	@ninja -C build/arm64 -j $(JOBS) zaffre >build/arm64.log 2>&1 || { tail -n 40 build/arm64.log; exit 1; }
	@aarch64-linux-gnu-strip --strip-debug -o build/arm64/stripped build/arm64/zaffre && mv build/arm64/stripped build/arm64/zaffre

arm64-test: npm release arm64 ## the unit tests built for arm64 and the program beside an SDK, under qemu
	@tools/run-arm64-tests build/arm64-test

sdks: npm ## the official SDKs of Python, Go and Java, from their registries
	@tools/install-packages sdks || true
	@ZAFFRE_SDKS=1 ZAFFRE_TEST_JOBS=1 ZAFFRE_TESTS='^test/(sdks|docs/snippets)' tools/run-tests build/test

clients: npm ## programs of others against a fresh server
	@tools/install-packages build test clients
	@ZAFFRE_CLIENTS=1 ZAFFRE_TESTS='test/clients' tools/run-tests build/test

install: release ## install to PREFIX (/usr/local), with a systemd unit
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/zaffre
	install -D -m 0644 dist/zaffre.conf $(DESTDIR)$(PREFIX)/share/zaffre/zaffre.conf
	@test -e $(DESTDIR)$(SYSCONFDIR)/zaffre/zaffre.conf || install -D -m 0600 dist/zaffre.conf $(DESTDIR)$(SYSCONFDIR)/zaffre/zaffre.conf
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|g; s|@SYSCONFDIR@|$(SYSCONFDIR)|g' dist/zaffre.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/zaffre.service
	@echo "Start it with: systemctl daemon-reload && systemctl enable --now zaffre"

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/zaffre $(DESTDIR)$(PREFIX)/lib/systemd/system/zaffre.service
	rm -rf $(DESTDIR)$(PREFIX)/share/zaffre

clean: ## remove build/ (never ./data)
	rm -rf build
