#!/usr/bin/env bash
# Rules of CUDA's streams (stream_rules.c), of its graphs and captures (graph_rules.c), or of its
# events (event_rules.c), that are seldom needed hold under Baton as without it. A program that
# hangs is ended. usage: rules.sh streams|graphs|events. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
kernels=$source/../cuda_conformance/kernels.ptx
rules=$build/tests/cuda_front/${1%s}-rules
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CUDA_CPU_CC=$source/quick_cc BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache
export BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"

holds() { # NAME WAY COMMAND...
    local what="$1, $2"
    shift 2
    "$@" >"$scratch/out" 2>&1
    verdict $? "$what: $(head -n 3 "$scratch/out" | tr '\n' ' ')"
}
baton() { "$build/baton" run --device cpu "$@"; }
one_rule() { # NAME WAY...
    local name=$1 way program=(timeout -s KILL "$hangs" "$rules" "$1" "$kernels")
    shift
    holds "$name" plain env LD_LIBRARY_PATH="$build/cuda-cpu" "${program[@]}"
    for way in "$@"; do
        case $way in
        idle) holds "$name" "$way" baton -- "${program[@]}" ;;
        no-daemon)
            BATON_REQUIRE_DAEMON=0 holds "$name" "$way" baton --socket "$scratch/nobody" -- "${program[@]}" ;;
        queued) BATON_TEST_QUEUE=1 holds "$name" "$way" baton -- "${program[@]}" ;;
        slices) BATON_TEST_QUEUE=1 holds "$name" "$way" baton --slice 1 --chunk 4096 -- "${program[@]}" ;;
        esac
    done
}

streams() {
    # Its kernel waits for the thread that ends a context; that call waits for what is held back.
    one_rule own idle no-daemon
    one_rule attached idle no-daemon
    for name in many left reset managed visible peer capture buffer wide crowd; do
        one_rule "$name" idle no-daemon queued slices
    done
    # The call that fails is that of a launch of the program, or of a piece. If it is that of the
    # first piece, the launch is tried whole, and that fails, too.
    for n in 1 2 3; do
        export BATON_CUDA_CPU_FAIL=cuLaunchKernel:$n:701,cuLaunchKernel:$((n + 1)):701
        one_rule query idle no-daemon queued
    done
    unset BATON_CUDA_CPU_FAIL
}

graphs() {
    for name in held recorded external turns fork beside left completion attributes; do
        one_rule "$name" idle no-daemon queued slices
    done
}

events() {
    for name in waits changed again ended refused; do
        one_rule "$name" idle no-daemon queued slices
    done
    # Kernels wait for the program, and a worker that waits for such a kernel issues nothing.
    for name in newest behind later given; do
        one_rule "$name" idle no-daemon
    done
    one_rule newest queued slices
    BATON_CUDA_CPU_FAIL=cuStreamCreate:0:2 one_rule beside idle no-daemon
}

# Baton makes no stream of its own to keep a record's place.
short_of_streams() {
    export BATON_CUDA_CPU_FAIL=cuStreamCreate:0:2
    one_rule moved idle no-daemon queued
    for n in 3 4 5; do # events of its own: of marks, and of the record
        BATON_CUDA_CPU_FAIL=cuStreamCreate:0:2,cuEventCreate:$n:2
        one_rule moved idle
    done
    unset BATON_CUDA_CPU_FAIL
}

start_daemon
case ${1:-} in
streams) streams ;;
graphs) graphs && short_of_streams ;;
events) events ;;
*) echo "usage: rules.sh streams|graphs|events" >&2 && exit 2 ;;
esac
report
