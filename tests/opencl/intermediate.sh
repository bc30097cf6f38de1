#!/usr/bin/env bash
# Programs that come as SPIR-V compute the same and run in pieces, on the fake driver and on the
# system's if it takes SPIR-V (PoCL 6 does). Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
module=$BATON_SOURCE/tests/spirv/place.spv
program=$build/tests/opencl/layer-intermediate

how=anyway
run() { # WAY VARIABLE=VALUE...
    local way=$1
    shift
    rm -f "$scratch/stats"
    BATON_STATS=$scratch/stats env "$@" timeout 900 "$program" "$module" "$how" >"$scratch/out" 2>&1
    verdict $? "$way: $(tr '\n' ' ' <"$scratch/out")"
}

holds() { # SENTENCE PYTHON: of the statistics s
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
        "$scratch/stats" "$2"
    verdict $? "$1: $(cat "$scratch/stats")"
}

run "without the layer"
run "in pieces of one group" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=1
# 3 launches of 3 x 2 x 2 groups each: 36 pieces of one group.
holds "each group is a piece" "s['pieces'] == 36 and s['unsliced'] == {} and s['kernel_launches'] == 3"
run "in pieces of five groups" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=5
# 12 groups in pieces of 5, 5 and 2.
holds "pieces have the size that was asked for" "s['pieces'] == 9"
run "whole" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=off
run "through the graph" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=2 BATON_TEST_QUEUE=1
run "with a driver that refuses the rewritten module" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=2 \
    FAKE_CL='fail CreateProgramWithIL 2 -44'
# A driver of OpenCL 1.2 with cl_khr_il_program.
how=extension
run "through the extension, without the layer" FAKE_CL="version 1.2"
run "through the extension" FAKE_CL="version 1.2" OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=1
holds "each group is a piece, too" "s['pieces'] == 36 and s['unsliced'] == {}"
how=anyway

unset OCL_ICD_VENDORS
POCL_DEVICES=basic timeout 900 "$program" "$module" >"$scratch/out" 2>&1
if [ $? -eq 77 ]; then
    echo "the system's driver takes no SPIR-V: not tried there"
else
    run "on the system's driver" POCL_DEVICES=basic OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=1
    holds "each group is a piece there" "s['pieces'] == 36 and s['unsliced'] == {}"
fi
report
