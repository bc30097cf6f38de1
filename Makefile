# The habitual words; Meson does the work. `make test` and `make demo` set up everything on a fresh
# Debian 12, Debian 13 or Ubuntu 24.04 (docs/install.md). BUILD may be outside of the source tree.
BUILD ?= build
# Names of tests or suites (`meson test --list`) for `make test`, `asan` and `tsan`; none: all
TESTS ?=

.PHONY: all configure deps test demo bench lint asan tsan fuzz soak fresh conditions install deb dist clean

all: deps configure
	@ninja -C "$(BUILD)"

deps:
	@tools/install-deps build

configure: deps
	@[ -f "$(BUILD)/build.ninja" ] || meson setup "$(BUILD)" >/dev/null || \
	    { cat "$(BUILD)/meson-logs/meson-log.txt"; exit 3; }

test:
	@tools/install-deps build test
	@$(MAKE) --no-print-directory all
	@tools/run-tests "$(BUILD)" $(TESTS)

# Only what the demonstration runs is built.
demo: configure
	@tools/build-quietly "$(BUILD)" demo-programs
	@tools/demo "$(BUILD)"

bench: all
	@tools/run-bench "$(BUILD)"

lint:
	@tools/install-deps build test lint
	@$(MAKE) --no-print-directory configure
	@tools/lint "$(BUILD)"

asan:
	@tools/install-deps build test lint
	@[ -f build-asan/build.ninja ] || CC="$$(tools/find-llvm clang)" \
	    meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-asan && tools/run-tests build-asan $(TESTS)

tsan:
	@tools/install-deps build test lint
	@[ -f build-tsan/build.ninja ] || CC="$$(tools/find-llvm clang)" \
	    meson setup build-tsan -Db_sanitize=thread -Db_lundef=false >/dev/null
	@ninja -C build-tsan && tools/run-tests build-tsan $(TESTS)

fuzz:
	@tools/install-deps build test lint
	@[ -f build-fuzz/build.ninja ] || CC="$$(tools/find-llvm clang)" meson setup build-fuzz -Dfuzz=true \
	    -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz && tools/run-fuzz build-fuzz

soak: all
	@tools/run-soak "$(BUILD)"

# README's commands in a Debian 12, or: make fresh ON=trixie, ON=noble, ON=arm64
ON ?= bookworm
fresh:
	@tools/try-fresh "$(ON)"

conditions:
	@tools/try-conditions

install: all
	@meson install -C "$(BUILD)" --no-rebuild

deb: all
	@tools/make-deb "$(BUILD)"

# The release as a source archive, in $(BUILD)/dist.
dist:
	@tools/make-dist "$(BUILD)/dist"

clean:
	@rm -rf build build-asan build-tsan build-fuzz
