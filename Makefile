# The habitual words; Meson does the work. `make test` and `make demo` set up everything on a fresh Debian 12.
BUILD ?= build

.PHONY: all deps test demo bench lint asan tsan fuzz soak fresh install deb clean

all: deps $(BUILD)/build.ninja
	@ninja -C $(BUILD)

deps:
	@tools/install-deps build

$(BUILD)/build.ninja:
	@meson setup $(BUILD) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 3; }

test:
	@tools/install-deps build test lint
	@$(MAKE) --no-print-directory all
	@tools/run-tests $(BUILD)

demo: all
	@tools/demo $(BUILD)

bench: all
	@tools/run-bench $(BUILD)

lint:
	@tools/install-deps build test lint
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@tools/lint $(BUILD)

asan:
	@tools/install-deps build test lint
	@[ -f build-asan/build.ninja ] || CC=clang-14 meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-asan && tools/run-tests build-asan

tsan:
	@tools/install-deps build test lint
	@[ -f build-tsan/build.ninja ] || CC=clang-14 meson setup build-tsan -Db_sanitize=thread -Db_lundef=false >/dev/null
	@ninja -C build-tsan && tools/run-tests build-tsan

fuzz:
	@tools/install-deps build test lint
	@[ -f build-fuzz/build.ninja ] || CC=clang-14 meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz && tools/run-fuzz build-fuzz

soak: all
	@tools/run-soak $(BUILD)

fresh:
	@tools/try-fresh

install: all
	@meson install -C $(BUILD) --no-rebuild

deb: all
	@tools/make-deb $(BUILD)

clean:
	@rm -rf build build-asan build-tsan build-fuzz
