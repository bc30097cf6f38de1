#!/usr/bin/env bash
# What does it cost that state follows a job? Programs with 48 KiB of state on two GPUs of one
# cluster, one token each, profile gpusync. none: two programs, each of which keeps its GPU. p2p,
# ondemand and system: three programs, so that jobs get whichever GPU is free. Of each: jobs per
# second and GPU; KiB that a job moved; microseconds of a job that moving took, and of each KiB.
# Medians of ROUNDS rounds, with the extremes. Rates of two and of three programs do not compare:
# two leave their GPUs idle between jobs.
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

measure() { # MIGRATION PROGRAMS: jobs/s/GPU, KiB a job, us a job, us a KiB
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
        "$build/baton" run --require-daemon --name "state$i" --stats "$scratch/stats$i" -- \
            "$build/tests/gpusync/migrate-state" "$jobs" "$i" >"$scratch/out$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    [ "$status" -eq 0 ] || { cat "$scratch"/out* >&2; exit 1; }
    python3 - "$jobs" "$scratch" "$2" <<'PY'
import json, re, sys
jobs, folder, programs = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rate = kib = us = 0
for i in range(1, programs + 1):
    n, ns = re.search(r"(\d+) jobs in (\d+)", open(f"{folder}/out{i}").read()).groups()
    stats = json.load(open(f"{folder}/stats{i}"))
    rate += int(n) / (int(ns) / 1e9) / 2
    kib += stats["moved_bytes"] / 1024 / jobs / programs
    us += stats["moved_ms"] * 1e3 / jobs / programs
print("%.1f %.2f %.2f %.3f" % (rate, kib, us, us / kib if kib else 0))
PY
    rm -f "$scratch"/out* "$scratch"/stats*
    kill "$daemon"
    wait "$daemon" 2>/dev/null
    daemon=
}

for _ in $(seq "$rounds"); do
    for migration in none p2p ondemand system; do
        numbers=$(measure "$migration" "$([ "$migration" = none ] && echo 2 || echo 3)") || exit 1
        echo "$migration $numbers"
    done
done | tee "$scratch/numbers" | sed -u 's/^/round: /' >&2 || exit 1
python3 - "$scratch/numbers" <<'PY'
import statistics, sys
rows = [line.split() for line in open(sys.argv[1])]
print("%-10s %28s %22s %24s %24s" % ("migration", "jobs/s/GPU", "KiB a job", "us a job", "us a KiB"))
for name in ("none", "p2p", "ondemand", "system"):
    columns = list(zip(*[map(float, row[1:]) for row in rows if row[0] == name]))
    shown = ["%.*f (%.*f .. %.*f)" % (d, statistics.median(c), d, min(c), d, max(c))
             for c, d in zip(columns, (0, 1, 1, 2))]
    print("%-10s %28s %22s %24s %24s" % (name, *shown))
PY
