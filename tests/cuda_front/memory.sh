#!/usr/bin/env bash
# Random CUDA programs under Baton while memory is short for Baton (short_memory.c): a program's
# results are right, or a call has failed because of memory. A program that hangs is ended. Ends
# with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
[ "${BATON_SANITIZER:-none}" = none ] || { echo "skipped: a sanitizer has its own allocator" && exit 77; }
source=$(cd "$(dirname "$0")" && pwd)
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CACHE_DIR=$build/tests/cuda_front/cache BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"
ln -s "$build/tests/cuda_front/libshort-memory.so" "$scratch" # LD_PRELOAD ends paths at spaces
right=0
told=0
short=0

one_run() { # SEED ONE_OF, then what env takes
    local seed=$1 of=$2 asked
    shift 2
    env "$@" SHORT_MEMORY_SEED="$seed" SHORT_MEMORY_OF="$of" LD_PRELOAD="$scratch/libshort-memory.so" \
        "$build/baton" run --device cpu -- timeout -s KILL "$hangs" "$build/tests/cuda_front/random-host" \
        "$source/../cuda_conformance/kernels.ptx" $((seed * 100)) 20 >"$scratch/out" 2>&1
    asked=$(sed -n 's/^short memory: \([0-9]*\) of .*/\1/p' "$scratch/out" | tail -n 1)
    short=$((short + ${asked:-0}))
    if grep -q 'programs as their models' "$scratch/out"; then
        right=$((right + 1))
    elif grep -q '^seed [0-9]*: .*: 2$' "$scratch/out"; then
        told=$((told + 1))
    else
        verdict 1 "seed $seed, one of $of${1:+, $1}: $(grep -v '^short memory' "$scratch/out" | tail -n 1)"
    fi
}

start_daemon
for seed in $(seq 40); do
    one_run "$seed" 60 BATON_TEST_QUEUE=1
    one_run "$seed" 200 BATON_TEST_QUEUE=1
    one_run "$seed" 60 -u BATON_TEST_QUEUE
done
[ $right -gt 0 ] && [ $told -gt 0 ] && [ $short -gt 120 ]
verdict $? "memory was short $short times: $right runs are right, in $told a call failed"
report
