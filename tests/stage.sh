# shellcheck shell=bash
# What scripts with programs, the layer and a daemon share: a scratch folder, the daemon,
# statistics, verdicts. Sourced; the last line is report, which prints `N passed, N failed`. No
# daemon listens at BATON_SOCKET until start_daemon; from there to stop_daemon programs require it,
# so that none runs unscheduled because a machine is busy.
set -uo pipefail
# shellcheck source=tests/patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/patience.sh"
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
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$build/tests/pocl-cache} # as tests/meson.build says
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
    await "$conductor" [ -s "$scratch/conductor" ] || verdict 1 "the virtual clock is ready"
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
    export BATON_REQUIRE_DAEMON=1
    await "$daemon" [ -S "$scratch/socket" ] || verdict 1 "batond listens: $(tail -n 3 "$scratch/daemon.log")"
}

daemon_status() {
    "$build/baton" status --json --socket "$scratch/socket" 2>/dev/null
}

has_clients() { # COUNT
    local status
    status=$(daemon_status) && [ "$(grep -c '"asked_priority"' <<<"$status")" -eq "$1" ]
}

# Waits until so many programs (1) are connected.
wait_for_client() { # [COUNT [PROGRAM]]: its process, if one of them is a child of this script
    await "${2:-$daemon}" has_clients "${1:-1}" || verdict 1 "${1:-1} clients are connected: $(daemon_status)"
}

grants_of() { # ENGINE: how often batond has granted it
    daemon_status | python3 -c 'import json, sys
print(sum(e["grants"] for e in json.load(sys.stdin)["engines"] if e["name"] == sys.argv[1]))' "$1"
}

has_holder() {
    daemon_status | grep -q '"holder": [0-9]'
}

# Waits until a program holds an engine.
wait_for_holder() { # PROGRAM: its process
    await "$1" has_holder || verdict 1 "a program holds an engine: $(daemon_status)"
}

stop_daemon() { # SIGNAL
    { kill "-$1" "$daemon" && wait "$daemon"; } 2>/dev/null
    daemon=
    unset BATON_REQUIRE_DAEMON
}

report() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
