#!/usr/bin/env bash
# What the CUDA front costs and gains on the CPU device. Plain and under Baton in turns, so that both meet the same machine; medians, and
# the spread from the second lowest to the second highest. usage: cuda_front.sh [ROUNDS]; BATON_BUILD names the build folder. For a quiet machine.
set -uo pipefail
build=${BATON_BUILD:-build}
build=$(cd "$build" && pwd)
rounds=${1:-9}
kernels=$(cd "$(dirname "$0")/.." && pwd)/tests/cuda_conformance/kernels.ptx
mmul=$(cd "$(dirname "$0")/.." && pwd)/tests/workloads/cuda/mmul.ptx
load=$build/tests/cuda_front/cuda-load
scratch=$(mktemp -d)
daemon=
finish() {
    rm -f "$scratch/go"
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
export BATON_SOCKET=$scratch/socket BATON_CUDA_CPU_ENGINES=$scratch/engines BATON_TRANSLATE=$build/baton-translate
export BATON_CACHE_DIR=$build/tests/cuda_front/cache
mkdir -p "$BATON_CACHE_DIR"
"$build/batond" --socket "$BATON_SOCKET" --foreground >"$scratch/log" 2>&1 &
daemon=$!
for _ in $(seq 200); do
    [ -S "$BATON_SOCKET" ] && break
    sleep 0.05
done

plain() { env LD_LIBRARY_PATH="$build/cuda-cpu" "$load" "$kernels" "$@"; }
options=()
baton() { local priority=$1 && shift && "$build/baton" run --device cpu --priority "$priority" "${options[@]}" -- "$load" "$kernels" "$@"; }

# Numbers on standard input: median, second lowest, second highest.
summary() { sort -n | awk '{v[NR] = $1} END {n = NR; low = (n > 2) ? 2 : 1; high = (n > 2) ? n - 1 : n
    m = (n % 2) ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2; print m, v[low], v[high]}'; }

in_turns() { # WHAT UNIT ARGUMENTS...
    local what=$1 unit=$2 added=us
    [ "$unit" = us ] || added='%'
    shift 2
    : >"$scratch/plain" && : >"$scratch/baton" && : >"$scratch/added"
    for _ in $(seq "$rounds"); do
        local one two
        one=$(plain "$@")
        two=$(baton 50 "$@")
        echo "$one" >>"$scratch/plain" && echo "$two" >>"$scratch/baton"
        awk -v a="$one" -v b="$two" -v unit="$unit" 'BEGIN {print unit == "us" ? b - a : 100 * (b / a - 1)}' >>"$scratch/added"
    done
    echo "$what ($unit): plain $(summary <"$scratch/plain"), Baton $(summary <"$scratch/baton"), added ($added) $(summary <"$scratch/added")"
}

beside() { # NAME HOG-COMMAND: p50 p99 max of an urgent job beside it, and how much the hog did in a second
    local name=$1 begin end n hog
    shift
    touch "$scratch/go"
    begin=$(date +%s.%N)
    "$@" >"$scratch/hog" &
    hog=$!
    sleep 2
    echo "urgent 0.3 ms job beside $name (ms, p50 p99 max): $("${urgent[@]}")"
    rm -f "$scratch/go"
    wait "$hog"
    end=$(date +%s.%N)
    n=$(cat "$scratch/hog")
    awk -v n="$n" -v b="$begin" -v e="$end" 'BEGIN {printf "  the hog did %.2f a second\n", n / (e - b)}'
}

in_turns "synchronous empty launch" us launch 2000
in_turns "pipelined empty launch" us pipeline 50000
in_turns "16 MiB to the device" ms move 16777216 20
options=(--slice 1) # blocks: 400 pieces
in_turns "a product in 400 pieces" ms product "$mmul" 3
options=()
echo "urgent 0.3 ms job alone (ms, p50 p99 max): $(plain urgent 0.3 500)"
urgent=(plain urgent 0.3 50) && beside "a hog with long kernels, plain" plain hog 1000 "$scratch/go"
urgent=(baton 80 urgent 0.3 200) && beside "the same, Baton" baton 10 hog 1000 "$scratch/go"
urgent=(plain urgent 0.3 50) && beside "a hog that copies 64 MiB, plain" plain copies 67108864 "$scratch/go"
urgent=(baton 80 urgent 0.3 200) && beside "the same, Baton" baton 10 copies 67108864 "$scratch/go"
