# shellcheck shell=bash
# What scripts with programs, the layer and a daemon share: a scratch folder, the daemon, statistics, verdicts. Sourced; the last line is report,
# which prints `N passed, N failed`. Nobody listens at BATON_SOCKET until start_daemon.
set -uo pipefail
build=$BATON_BUILD
scratch=$(mktemp -d)
daemon=
finish() {
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=$scratch/socket HOME=$scratch XDG_RUNTIME_DIR=$scratch
export BATON_CACHE_DIR=$scratch/cache BATON_TRANSLATE=$build/baton-translate POCL_CACHE_DIR=$scratch/pocl
mkdir -p "$BATON_CACHE_DIR" "$POCL_CACHE_DIR"
passed=0
failed=0

# The status comes first: a substitution in the name would replace it.
verdict() { # STATUS NAME
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

number() { # FIELD [FILE]: of statistics, by default the latest
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "${2:-$scratch/stats}" | head -n 1
}

start_daemon() { # OPTIONS: in place of the one that runs
    [ -z "$daemon" ] || stop_daemon TERM
    "$build/batond" --socket "$scratch/socket" "$@" --foreground >"$scratch/daemon.log" 2>&1 &
    daemon=$!
    for _ in $(seq 100); do
        [ -S "$scratch/socket" ] && return
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
