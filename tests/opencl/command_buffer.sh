#!/usr/bin/env bash
# Command buffers that batond schedules, in pieces of one group, beside a hog on the same device:
# what they leave is what they leave without batond, byte for byte. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
program=$build/tests/opencl/layer-command-buffer

for device in basic pthread; do
    export POCL_DEVICES=$device
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_SOCKET=$scratch/nobody BATON_SLICE=off timeout 900 \
        "$program" "$scratch/alone.bytes" >"$scratch/alone"
    verdict $? "$device, without batond: $(tail -n 1 "$scratch/alone")"
    [ "$(wc -c <"$scratch/alone.bytes")" -eq $((4 * 3 * 2 * 4096)) ] # four ways, three rounds, two buffers
    verdict $? "$device: every replay leaves its bytes ($(wc -c <"$scratch/alone.bytes"))"
    # shellcheck disable=SC2119
    start_daemon
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_PRIORITY=10 "$build/tests/opencl/layer-load" 7200 10000 0 \
        >"$scratch/hog" 2>&1 &
    hog=$!
    wait_for_holder $hog
    timeout 900 "$build/baton" run --require-daemon --priority 50 --slice 1 --stats "$scratch/stats" -- \
        "$program" "$scratch/beside.bytes" >"$scratch/beside"
    verdict $? "$device, beside a hog: $(tail -n 1 "$scratch/beside")"
    kill -0 $hog
    verdict $? "$device: the hog was there all the time"
    kill $hog
    wait $hog 2>/dev/null
    cmp "$scratch/alone.bytes" "$scratch/beside.bytes"
    verdict $? "$device: the same bytes"
    [ "$(number pieces)" -gt 0 ] && [ "$(number pieces)" -gt "$(number kernel_launches)" ]
    verdict $? "$device: its launches run in pieces ($(number pieces) of $(number kernel_launches))"
    stop_daemon TERM
done
report
