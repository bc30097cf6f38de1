#!/usr/bin/env bash
# CUDA programs under Baton on a driver that says success and answers nonsense (lying_driver.c). The
# programs do not ask what it lies about, so their results are right. The random ones pass
# parameters one by one, the workloads in a buffer. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
kernels=$source/../cuda_conformance/kernels.ptx
random=("$build/tests/cuda_front/random-host" "$kernels" 1 20)
workloads=("$build/tests/workloads/workloads-cuda" --size small mmul bfs)
export LD_LIBRARY_PATH=$build/cuda-cpu BATON_CUDA_CPU_CC=$source/quick_cc
export BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"

lying() { # WAY PROGRAM ...
    local way=$1 before=() with=()
    shift
    case $way in
    queued) before=(env BATON_TEST_QUEUE=1) ;;
    slices) with=(--slice 1) ;;
    chunks) before=(env BATON_TEST_QUEUE=1) with=(--slice 1 --chunk 4096) ;;
    esac
    BATON_CUDA_LIBRARY=$build/tests/cuda_front/liblying-driver.so "${before[@]}" \
        "$build/baton" run --priority 50 --stats "$scratch/stats" "${with[@]}" -- \
        timeout -s KILL $hangs "$@" >"$scratch/out" 2>&1
}

start_daemon
"${workloads[@]}" >"$scratch/plain" 2>&1
verdict $? "workloads, plain: $(tail -n 1 "$scratch/plain")"
for lie in none bus-id parameters no-end elapsed attributes siblings; do
    export BATON_LIE=$lie
    for way in idle queued slices chunks; do
        lying $way "${workloads[@]}" && cmp -s "$scratch/plain" "$scratch/out"
        verdict $? "$lie, $way: workloads: $(tail -n 1 "$scratch/out")"
        lying $way "${random[@]}"
        verdict $? "$lie, $way: random programs: $(tail -n 1 "$scratch/out")"
    done
done
# What is refused late, or after the call's values were written, is loaded as the program gave it.
loads=("$build/tests/cuda_front/loads" "$kernels")
"${loads[@]}" >"$scratch/plain" 2>&1
verdict $? "loads, plain: $(tail -n 1 "$scratch/plain")"
for lie in none lazy refusal; do
    export BATON_LIE=$lie
    for way in idle slices; do
        lying $way "${loads[@]}" && cmp -s "$scratch/plain" "$scratch/out"
        verdict $? "$lie, $way: loads: $(tail -n 1 "$scratch/out")"
    done
    [ $lie != none ] || [ "$(number pieces)" -eq $((4 * 4)) ]
    verdict $? "$lie: kernels run in pieces: $(head -c 200 "$scratch/stats")"
done
# A kernel whose sibling cannot be launched like it runs whole, and its work is done. Half of the
# four launches are like that.
siblings() { # LIE SITUATION DETAIL
    local way
    export BATON_LIE=$1
    for way in idle queued slices chunks; do
        lying $way "$build/tests/cuda_front/siblings" "$2" "$kernels"
        verdict $? "$1, $way: siblings: $(tail -n 1 "$scratch/out")"
    done
    [ "$(number pieces)" -eq $((2 * 16)) ] && grep -q '"unsliced": {"construct": 2}' "$scratch/stats" &&
        grep -q "$3" "$scratch/stats"
    verdict $? "$1: two launches run whole, with the reason: $(head -c 400 "$scratch/stats")"
}
siblings less threads "cannot have blocks of so many threads"
siblings surprise threads "the driver refuses its pieces"
siblings clusters clusters "its blocks form clusters"
siblings stubborn shared "refuses one of its attributes"
# Its kernel waits for the thread that makes a call, and that call waits for what is held back.
export BATON_LIE=streams
lying idle "$build/tests/cuda_front/own-calls" "$kernels"
verdict $? "streams: own calls: $(head -n 3 "$scratch/out" | tr '\n' ' ')"
# A graph's launch that is held back names events, which the program destroys meanwhile.
export BATON_LIE=nodes
for way in idle queued; do
    lying $way "$build/tests/cuda_front/event-rules" ended "$kernels"
    verdict $? "nodes, $way: events that end: $(head -n 3 "$scratch/out" | tr '\n' ' ')"
done
report
