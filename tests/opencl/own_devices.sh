#!/usr/bin/env bash
# Programs that drive several PoCL devices, parts of one, or several queues themselves, one thread
# each: they end well and with the right values, although the pieces that run at the same time
# differ in width. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
# A device of all cores of a large machine would be done with a launch before it is cut.
export POCL_MAX_PTHREAD_COUNT=2

try() { # DEVICES WAY [GPUS]
    rm -f "$scratch/stats"
    POCL_DEVICES=$1 OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=${3:-1} BATON_STATS=$scratch/stats \
        timeout 900 "$build/tests/opencl/layer-own-devices" "$2" >"$scratch/out" 2>&1
    verdict $? "$2 on $1, --gpus ${3:-1} ($(tail -n 1 "$scratch/out"))"
}

POCL_DEVICES="basic basic" timeout 900 "$build/tests/opencl/layer-own-devices" shared >"$scratch/out" 2>&1
verdict $? "without Baton ($(tail -n 1 "$scratch/out"))"
# Pieces by time grow: the first has a few groups, each later one up to eight times as many.
# shellcheck disable=SC2119
start_daemon
for way in shared apart queues; do
    for devices in "basic basic" "pthread pthread"; do
        try "$devices" $way
        [ "$(number pieces)" -gt 36 ] # of 18 launches
        verdict $? "$way on $devices: launches are cut ($(number pieces) pieces)"
    done
done
for _ in 1 2 3; do
    try "basic basic" shared
    try "basic basic" apart
done
try pthread parts
try pthread unordered
try "basic basic" apart all
report
