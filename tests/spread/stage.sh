# What the scripts of this folder share: a scratch folder, a daemon, the layer's statistics, verdicts. Sourced; ends with report.
# shellcheck shell=bash
set -uo pipefail
build=$BATON_BUILD
scratch=$(mktemp -d)
daemon=
finish() {
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=/nonexistent/baton.sock HOME=$scratch XDG_RUNTIME_DIR=$scratch
export BATON_CACHE_DIR=$scratch/cache BATON_TRANSLATE=$build/baton-translate
passed=0
failed=0

# The status comes first: a substitution in the name would replace it.
verdict() { # STATUS NAME
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

number() { # FIELD: of the latest statistics
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$scratch/stats" | head -n 1
}

start_daemon() { # OPTIONS: in place of the one that runs; its socket is $scratch/socket
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    "$build/batond" --socket "$scratch/socket" "$@" --foreground >"$scratch/daemon.log" 2>&1 &
    daemon=$!
    for _ in $(seq 100); do
        [ -S "$scratch/socket" ] && break
        sleep 0.05
    done
}

report() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
