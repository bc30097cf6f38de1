#!/usr/bin/env bash
# No engine is held while another one works: a copy behind a kernel has its copy engine from the
# kernel's end on, whatever call asks for it. Another program copies while the kernel runs
# (engine_order.c). Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
program=$build/tests/cuda_front/engine-order
kernels=$source/../cuda_conformance/kernels.ptx
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CUDA_CPU_CC=$source/quick_cc BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache
export BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"
mkfifo "$scratch/end"

# The first program's kernel runs until its standard input ends.
beside() { # WAY NAME, then how `baton run` is called for the first program
    local way=$1 name=$2 first
    shift 2
    "$@" -- timeout -s KILL "$hangs" "$program" "$name" "$kernels" <"$scratch/end" >"$scratch/first" 2>&1 &
    first=$!
    exec 3>"$scratch/end"
    await "$first" grep -q asked "$scratch/first"
    verdict $? "$name, $way: the first program asks for the copy"
    "$build/baton" run --device cpu --priority 80 --require-daemon -- timeout -s KILL "$hangs" \
        "$program" other "$kernels" >"$scratch/other" 2>&1 3>&-
    verdict $? "$name, $way: another program copies while the kernel runs: $(tail -n 1 "$scratch/other")"
    exec 3>&-
    wait "$first"
    verdict $? "$name, $way: the copy is behind the kernel: $(tail -n 1 "$scratch/first")"
}

start_daemon
first=("$build/baton" run --device cpu --priority 10 --require-daemon)
for name in $("$program" list); do
    beside idle "$name" "${first[@]}"
    beside queued "$name" env BATON_TEST_QUEUE=1 "${first[@]}"
    beside chunks "$name" "${first[@]}" --chunk 512
done
report
