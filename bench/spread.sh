#!/usr/bin/env bash
# One kernel on one and on two devices (two PoCL basic devices), and what `--gpus auto` makes of it,
# as in Fig. 5 of GPU-SPARC: buffer write, kernel, buffer read (with the copies and the merge that
# it asks for). Each line is the median of ROUNDS runs of the three in turn, with the extremes of
# the ratio. No daemon: the cost of sharing is bench-preemption's subject.
# usage: bench/spread.sh [ROUNDS] [KIND:MIB:LAUNCHES ...]
set -uo pipefail
build=${BATON_BUILD:-$(cd "$(dirname "$0")/../build" && pwd)}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export POCL_DEVICES="basic basic" POCL_CACHE_DIR=$scratch/pocl BATON_CACHE_DIR=$scratch/cache \
    BATON_SOCKET=/nonexistent/baton.sock
export BATON_TRANSLATE=$build/baton-translate
rounds=${1:-3}
[[ $rounds =~ ^[1-9][0-9]*$ ]] ||
    { echo "usage: bench/spread.sh [ROUNDS] [KIND:MIB:LAUNCHES ...]" >&2; exit 2; }
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- horner:2:20 multiply:1:20 scatter:2:20 add:16:40 stencil:16:40 transpose:16:40

run() { # GPUS KIND MIB LAUNCHES: write kernel read all hash
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=$1 BATON_STATS=$scratch/stats \
        "$build/tests/spread/spread-load" "$2" "$3" "$4"
}

printf '%-10s %5s %6s %9s %9s %9s %9s %8s %16s\n' kernel MiB gpus write kernel read all ratio extremes
for entry in "$@"; do
    IFS=: read -r kind mib launches <<<"$entry"
    : >"$scratch/lines"
    for _ in $(seq "$rounds"); do
        for gpus in 1 2 auto; do
            echo "$gpus $(run "$gpus" "$kind" "$mib" "$launches")" >>"$scratch/lines"
        done
    done
    awk -v kind="$kind" -v mib="$mib" '
        function median(gpus, column,    list, n, i, j, t) {
            n = 0
            for (i = 1; i <= lines[gpus]; i++) list[++n] = value[gpus, i, column]
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                    t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
                }
            low = list[1]; high = list[n]
            return list[int((n + 1) / 2)]
        }
        { lines[$1]++; for (c = 2; c <= 5; c++) value[$1, lines[$1], c] = $c
          value[$1, lines[$1], 6] = $1 == "1" ? 1 : value["1", lines[$1], 5] / $5
          if (hash == "") hash = $6; else if (hash != $6) wrong = 1 }
        END {
            wanted["horner2"] = wanted["multiply2"] = 1 # bench/figures.tsv
            split("1 2 auto", order, " ")
            for (g = 1; g <= 3; g++) {
                gpus = order[g]
                w = median(gpus, 2); k = median(gpus, 3); r = median(gpus, 4); a = median(gpus, 5)
                ratio = median(gpus, 6)
                printf "%-10s %5d %6s %9.2f %9.2f %9.2f %9.2f %8.2f %7.2f .. %.2f%s\n",
                    kind, mib, gpus, w, k, r, a, ratio, low, high, wrong ? "  RESULTS DIFFER" : ""
                if (gpus != "1" && ENVIRON["BATON_FIGURES"] != "" && wanted[kind gpus])
                    printf "figure spread-%s%s %.4f %.4f %.4f\n",
                        kind, gpus == "auto" ? "-auto" : "", ratio, low, high
            }
        }' "$scratch/lines"
done
