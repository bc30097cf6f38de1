#!/usr/bin/env bash
# A launch must not wait for a kernel that waits for the host (ahead.c), whatever way it takes. A
# program that hangs is ended by the test's own limit.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
kernels=$(dirname "$0")/../cuda_conformance/kernels.ptx
ahead=$build/tests/cuda_mark/ahead
unset LD_LIBRARY_PATH
export BATON_CACHE_DIR=$build/tests/cuda_mark/cache BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"

env LD_LIBRARY_PATH="$build/cuda-cpu" "$ahead" "$kernels" >/dev/null
verdict $? "plain"
"$build/baton" run --device cpu -- "$ahead" "$kernels" >/dev/null
verdict $? "without a daemon"
start_daemon
"$build/baton" run --device cpu -- "$ahead" "$kernels" >/dev/null
verdict $? "with a daemon"
BATON_TEST_QUEUE=1 "$build/baton" run --device cpu -- "$ahead" "$kernels" >/dev/null
verdict $? "queued"
report
