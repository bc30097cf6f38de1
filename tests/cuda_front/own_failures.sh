#!/usr/bin/env bash
# CUDA programs under Baton on a driver that does not answer Baton's own questions
# (own_failures.c): a name at a time, once or for ever. The program's own calls of these names work,
# so its answers are those of the plain program. A program that hangs is ended. Ends with `N passed,
# N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
kernels=$source/../cuda_conformance/kernels.ptx
conformance=("$build/tests/cuda_conformance/cuda-conformance" "$kernels")
load=$build/tests/cuda_front/cuda-load
export LD_LIBRARY_PATH=$build/cuda-cpu BATON_CACHE_DIR=$build/tests/cuda_front/cache
export BATON_CUDA_CPU_ENGINES=$scratch/engines BATON_CUDA_LIBRARY=$build/tests/cuda_front/libown-failures.so
mkdir -p "$BATON_CACHE_DIR"

# What the front calls for itself and passes for programs, so that no call of theirs comes from it.
own_calls() {
    local name base
    sed -n 's/.* F(\(cu[A-Za-z0-9_]*\)).*/\1/p' "$source/../../src/cuda/genuine.h" | while read -r name; do
        base=${name%_v2}
        ! grep -q "^PASS(${base%_ptsz})" "$source/../../src/cuda/entries.def" || echo "$name"
    done
}

# An answer is about the device's own script of failures, and counts the calls of all.
told() { grep -v '^failures: each\|answers, \|passed, ' "$1"; }

asks() { # WAY NAME COUNT CODE
    local before=() with=()
    case $1 in
    queued) before=(env BATON_TEST_QUEUE=1) ;;
    slices) with=(--slice 1 --chunk 4096) ;;
    alone) before=(env -u BATON_REQUIRE_DAEMON) with=(--socket "$scratch/nobody") ;;
    esac
    BATON_OWN_FAIL=$2:$3:$4 "${before[@]}" "$build/baton" run --priority 50 "${with[@]}" -- \
        timeout -s KILL "$hangs" "${conformance[@]}" >"$scratch/out" 2>"$scratch/errors"
    told "$scratch/out" | diff "$scratch/right" - >"$scratch/diff"
    verdict $? "$1: $2 fails ($3), $4: $(grep -m 2 '^[<>]' "$scratch/diff" | tr '\n' ' ')"
}

"${conformance[@]}" >"$scratch/out" 2>/dev/null
verdict $? "answers without Baton"
told "$scratch/out" >"$scratch/right"
[ "$(own_calls | wc -l)" -gt 20 ]
verdict $? "calls are found: $(own_calls | wc -l)"
start_daemon
asks idle none 0 0
counts=(0) ways=(queued)
[ -z "${BATON_SOAK:-}" ] || counts=(0 1 2 3) ways=(idle queued slices alone)
for name in $(own_calls); do
    for way in "${ways[@]}"; do
        for count in "${counts[@]}"; do asks "$way" "$name" "$count" 999; done
    done
    # The second call fails, and the others work: what Baton has changed must be changed back.
    asks slices "$name" 2 201
done
# Beside a program that has the engine, work is held back behind it.
touch "$scratch/go"
"$build/baton" run --priority 10 -- "$load" "$kernels" hog 5 "$scratch/go" >"$scratch/hog" 2>&1 &
hog=$!
wait_for_holder $hog
for name in $(own_calls); do asks beside "$name" 0 999; done
rm -f "$scratch/go"
wait $hog
verdict $? "the program beside them is well: $(tail -n 1 "$scratch/hog")"
report
