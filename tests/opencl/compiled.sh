#!/usr/bin/env bash
# No launch after a kernel's first makes the driver compile: tests/opencl/compiled.c with a daemon,
# so that kernels are cut, on the fake driver and on PoCL with an empty cache. Ends with `N passed,
# N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export POCL_CACHE_DIR=$scratch/pocl
start_daemon
under_layer() { # NAME VARIABLE=VALUE...
    local name=$1
    shift
    rm -rf "$POCL_CACHE_DIR" && mkdir -p "$POCL_CACHE_DIR"
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_STATS=$scratch/stats timeout 900 env "$@" \
        "$build/tests/opencl/layer-compiled" >"$scratch/out" 2>&1
    verdict $? "$name: $(cat "$scratch/out")"
    [ "$(number pieces)" -gt 20 ]
    verdict $? "$name: first launches were cut ($(number pieces) pieces)"
}
under_layer fake OCL_ICD_VENDORS="$build/tests/fake_driver/libfake-opencl.so" \
    FAKE_CL="late;group_ns scale 5000" FAKE_CL_LOG="$scratch/log"
# What makes PoCL compile is common code of its devices; the soak tries both.
for device in basic ${BATON_SOAK:+pthread}; do
    if POCL_DEVICES=$device POCL_CACHE_DIR=$scratch/plain timeout 900 "$build/tests/opencl/layer-compiled" \
        >"$scratch/plain.out"; then
        under_layer "pocl $device" POCL_DEVICES=$device
        under_layer "pocl $device, everything queued" POCL_DEVICES=$device BATON_TEST_QUEUE=1
        under_layer "pocl $device, pieces of a fixed size" POCL_DEVICES=$device BATON_SLICE=64
    else
        echo "PoCL $device is not usable here: its part is left out ($(cat "$scratch/plain.out"))"
    fi
done
report
