#!/usr/bin/env bash
# What does it cost that state follows a job? Programs with 48 KiB of state on two GPUs of one
# cluster, one token each, profile gpusync. none: two programs, each of which keeps its GPU.
# p2p, ondemand and system: three programs, so that jobs get whichever GPU is free. Jobs per second
# and GPU, and of those of `none` in the same round: medians of ROUNDS rounds, with the extremes.
# usage: bench/migration.sh [ROUNDS [JOBS]]
set -uo pipefail
build=${BATON_BUILD:-$(cd "$(dirname "$0")/../build" && pwd)}
rounds=${1:-3}
jobs=${2:-1000}
[[ $rounds =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] ||
    { echo "usage: bench/migration.sh [ROUNDS [JOBS]]" >&2; exit 2; }
scratch=$(mktemp -d)
daemon=
finish() {
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=$scratch/socket HOME=$scratch XDG_RUNTIME_DIR=$scratch BATON_CACHE_DIR=$scratch \
    POCL_CACHE_DIR=$scratch/pocl
export BATON_TRANSLATE=$build/baton-translate POCL_DEVICES="basic basic"

measure() { # MIGRATION PROGRAMS: jobs per second and GPU
    local pids=() status=0
    printf 'profile: gpusync\ngpu_cluster: 2\ndevices: 2\ntokens_per_gpu: 1\nmigration: %s\n' "$1" \
        >"$scratch/config"
    "$build/batond" --socket "$BATON_SOCKET" --config "$scratch/config" --foreground >"$scratch/log" 2>&1 &
    daemon=$!
    for _ in $(seq 600); do
        [ -S "$BATON_SOCKET" ] && break
        sleep 0.05
    done
    for i in $(seq "$2"); do
        "$build/baton" run --require-daemon --name "state$i" -- "$build/tests/gpusync/migrate-state" "$jobs" \
            "$i" >"$scratch/out$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    [ "$status" -eq 0 ] || { cat "$scratch"/out* >&2; exit 1; }
    awk '/ jobs in / { rate += $1 / ($4 / 1e9) } END { printf "%.1f\n", rate / 2 }' "$scratch"/out*
    rm -f "$scratch"/out*
    kill "$daemon"
    wait "$daemon" 2>/dev/null
    daemon=
}

for round in $(seq "$rounds"); do
    for migration in none p2p ondemand system; do
        rate=$(measure "$migration" "$([ "$migration" = none ] && echo 2 || echo 3)") || exit 1
        echo "$round $migration $rate"
    done
done | tee "$scratch/rates" | sed -u 's/^/round /' >&2 || exit 1
sort -k2,2 -k3,3n "$scratch/rates" | awk '
    { n[$2]++; rates[$2, n[$2]] = $3; by[$1, $2] = $3; rounds = $1 > rounds ? $1 : rounds }
    END {
        printf "%-10s %12s %22s %14s\n", "migration", "jobs/s/GPU", "least .. most", "of none"
        split("none p2p ondemand system", names, " ")
        for (k = 1; k <= 4; k++) {
            m = names[k]
            least = 1e9; most = 0; sum = 0
            for (r = 1; r <= rounds; r++) {
                q = by[r, m] / by[r, "none"]
                sum += q
                least = q < least ? q : least
                most = q > most ? q : most
            }
            printf "%-10s %12.1f %10.1f .. %-8.1f %6.2f (%.2f .. %.2f)\n", m,
                rates[m, int((n[m] + 1) / 2)], rates[m, 1], rates[m, n[m]], sum / rounds, least, most
        }
    }'
