#!/usr/bin/env bash
# Do equals share? N programs of the same rank, on the fake driver, whose kernels take as long as
# the script says, all with the next launches under way, counted over the same second. Per N: Jain's
# index of their launches, (sum x)^2 / (N sum x^2), and all launches together against those of one
# program alone just before. Medians of ROUNDS rounds, with the extremes.
# usage: bench/equals.sh [ROUNDS [N...]]
set -uo pipefail
build=${BATON_BUILD:-$(cd "$(dirname "$0")/../build" && pwd)}
rounds=${1:-3}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "usage: bench/equals.sh [ROUNDS [N...]]" >&2; exit 2; }
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 2 3 4 8 16 32
scratch=$(mktemp -d) || exit 1
daemon=
finish() {
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=$scratch/socket HOME=$scratch XDG_RUNTIME_DIR=$scratch BATON_CACHE_DIR=$scratch
export BATON_TRANSLATE=$build/baton-translate OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
export OPENCL_LAYERS=$build/libbaton-layer.so BATON_REQUIRE_DAEMON=1
export FAKE_CL="group_ns scale 100000"
groups=20 # a kernel of 2 ms, in pieces of 0.5 ms
depth=4
printf 'probe: false\n' >"$scratch/baton.yaml"
"$build/batond" --socket "$BATON_SOCKET" --config "$scratch/baton.yaml" --foreground >"$scratch/log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
    [ -S "$BATON_SOCKET" ] && break
    sleep 0.05
done
load=$build/tests/opencl/layer-load
"$load" 0.2 $groups 0 $depth 3 >/dev/null || exit 1 # the rewriting is in the cache

together() { # N: a line of launches each; all have begun a while before the second that counts
    local n=$1 from pids=
    from=$(awk -v n="$n" '{ printf "%d", ($1 + 1 + 0.15 * n) * 1000 }' /proc/uptime)
    for i in $(seq "$n"); do
        timeout 120 "$load" 1 $groups 0 $depth 3 "$from" >"$scratch/out.$i" &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { echo "a program failed" >&2; exit 1; }
    done
    for i in $(seq "$n"); do cat "$scratch/out.$i"; done | awk '{ printf "%s ", $1 } END { print "" }'
}

for _ in $(seq "$rounds"); do
    for n in "$@"; do
        echo "$n $(together 1) $(together "$n")"
    done
done >"$scratch/lines" || exit 1

awk -v figures="${BATON_FIGURES:-}" '
    { n = $1; sum = squares = 0
      for (i = 3; i <= NF; i++) { sum += $i; squares += $i * $i }
      k = ++rounds[n]
      jain[n, k] = squares ? sum * sum / ((NF - 2) * squares) : 0
      whole[n, k] = sum / $2
      if (!(n in seen)) { seen[n] = 1; order[++kinds] = n } }
    function median(of, n, ret,   i, j, t, v, m) {
        m = rounds[n]
        for (i = 1; i <= m; i++) v[i] = of[n, i]
        for (i = 1; i <= m; i++)
            for (j = i + 1; j <= m; j++)
                if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
        ret[1] = v[int((m + 1) / 2)]; ret[2] = v[1]; ret[3] = v[m]
    }
    END {
        printf "%8s %14s %18s %14s %18s\n", "equals", "Jain", "extremes", "throughput", "extremes"
        worst_j = worst_w = 2
        for (i = 1; i <= kinds; i++) {
            median(jain, order[i], j); median(whole, order[i], w)
            printf "%8d %14.3f   [%.3f, %.3f] %14.3f   [%.3f, %.3f]\n", order[i],
                j[1], j[2], j[3], w[1], w[2], w[3]
            if (j[1] < worst_j) { worst_j = j[1]; lj = j[2]; hj = j[3] }
            if (w[1] < worst_w) { worst_w = w[1]; lw = w[2]; hw = w[3] }
        }
        if (figures != "") {
            printf "figure equals-jain %.4f %.4f %.4f\n", worst_j, lj, hj
            printf "figure equals-throughput %.4f %.4f %.4f\n", worst_w, lw, hw
        }
    }' "$scratch/lines"
