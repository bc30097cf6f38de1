# shellcheck shell=bash
# What scripts with programs, the layer and a daemon share: a scratch folder, the daemon,
# statistics, verdicts. Sourced; the last line is report, which prints `N passed, N failed`. No
# daemon listens at BATON_SOCKET until start_daemon.
set -uo pipefail
build=$BATON_BUILD
scratch=$(mktemp -d) || exit 1
daemon=
conductor=
finish() {
    [ -z "$conductor" ] || { kill "$conductor" && wait "$conductor"; } 2>/dev/null
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=$scratch/socket HOME=$scratch XDG_RUNTIME_DIR=$scratch
export BATON_CACHE_DIR=$scratch/cache BATON_TRANSLATE=$build/baton-translate
# What PoCL compiles stays with the build: most of the time of these tests is its compiler. PoCL
# knows a kernel by its source, its options and PoCL's own version.
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$build/tests/pocl-cache/$(basename "$(cd "$(dirname "$0")" && pwd)")}
export POCL_CACHE_DIR
mkdir -p "$BATON_CACHE_DIR" "$POCL_CACHE_DIR"
passed=0
failed=0

# The status comes first: a substitution in the name would replace it.
verdict() { # STATUS NAME
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

# The same where only a virtual clock makes the outcome certain: not counted without one.
by_clock() { # STATUS NAME
    [ ${#on_clock[@]} -eq 0 ] || verdict "$@"
}

number() { # FIELD [FILE]: of statistics, by default the latest
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "${2:-$scratch/stats}" | head -n 1
}

# From here on programs, and the daemon if it is started later, live by a virtual clock
# (tests/virtual_clock/clock.h): how long a command takes is what the fake driver's script says, and
# the machine's speed and load decide nothing. Answers 1 under a sanitizer, which does not let a
# library go before it.
start_clock() {
    [ "${BATON_SANITIZER:-none}" = none ] || return 1
    "$build/tests/virtual_clock/virtual-clock" "$scratch/clock" >"$scratch/conductor" &
    conductor=$!
    for _ in $(seq 6000); do
        [ -s "$scratch/conductor" ] && break
        kill -0 "$conductor" 2>/dev/null || return 1
        sleep 0.05
    done
    export VIRTUAL_CLOCK=$scratch/clock
    ln -s "$build/tests/virtual_clock/libvirtual-clock.so" "$scratch" # LD_PRELOAD ends paths at spaces
    on_clock=(env "LD_PRELOAD=$scratch/libvirtual-clock.so")
}
on_clock=()

# From here on a batond that starts is told that Linux does not limit real-time programs: no claim
# of a bound depends on this machine's limit. Answers 1 where a limit stays, because a sanitizer
# does not let a library go before it.
lift_rt_limit() {
    [ "$(cat /proc/sys/kernel/sched_rt_runtime_us)" = -1 ] && return
    [ "${BATON_SANITIZER:-none}" = none ] || return 1
    ln -s "$build/tests/daemon/libstand-in.so" "$scratch" # LD_PRELOAD ends paths at spaces
    on_machine=(env "LD_PRELOAD=$scratch/libstand-in.so" BATON_TEST_RT_RUNTIME=-1 BATON_TEST_ALONE=1)
}
on_machine=()

start_daemon() { # OPTIONS: in place of the one that runs
    [ -z "$daemon" ] || stop_daemon TERM
    "${on_clock[@]}" "${on_machine[@]}" "$build/batond" --socket "$scratch/socket" "$@" --foreground \
        >"$scratch/daemon.log" 2>&1 &
    daemon=$!
    for _ in $(seq 6000); do
        [ -S "$scratch/socket" ] && return
        sleep 0.05
    done
}

# Waits until so many programs (1) are connected.
wait_for_client() { # [COUNT]
    for _ in $(seq 6000); do
        [ "$("$build/baton" status --json --socket "$scratch/socket" 2>/dev/null |
            grep -c '"asked_priority"')" -eq "${1:-1}" ] && return
        sleep 0.05
    done
}

# Waits until a program holds an engine.
wait_for_holder() {
    for _ in $(seq 6000); do
        "$build/baton" status --json --socket "$scratch/socket" 2>/dev/null | grep -q '"holder": [0-9]' &&
            return
        sleep 0.05
    done
}

stop_daemon() { # SIGNAL
    { kill "-$1" "$daemon" && wait "$daemon"; } 2>/dev/null
    daemon=
}

report() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
