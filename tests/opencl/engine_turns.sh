#!/usr/bin/env bash
# No engine is held while another one works: a copy behind a kernel has its copy engine from the
# kernel's end on, whatever call asks for it, and a kernel behind a copy likewise. On the fake
# driver, under a virtual clock. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
program=$build/tests/opencl/layer-engine-turns

start_clock
under() { # PRIORITY COMMAND...
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_PRIORITY=$1 timeout 600 "${on_clock[@]}" "${@:2}"
}

# The first program's first command takes a second, the others 1 ms.
beside() { # WHAT HOW OTHER
    local first
    : >"$scratch/go"
    under 10 "$program" "$1" "$2" "$scratch/go" >"$scratch/first" 2>&1 &
    first=$!
    wait_for_holder $first
    FAKE_CL="duration ReadBuffer 1000; duration FillBuffer 1000" under 80 "$program" "$3" now 20 \
        >"$scratch/other" 2>&1
    verdict $? "$1, $2: the other program's $3 is right: $(cat "$scratch/other")"
    [ "$(cat "$scratch/other")" -lt 100 ] 2>/dev/null
    by_clock $? "$1, $2: the other program's $3 took $(cat "$scratch/other") ms at most"
    rm "$scratch/go"
    wait "$first"
    verdict $? "$1, $2: the first program is right: $(cat "$scratch/first")"
}

start_daemon
for way in "" "BATON_TEST_QUEUE=1"; do
    [ -z "$way" ] || export "${way?}"
    export FAKE_CL="duration FillBuffer 1000000; duration ReadBuffer 1000; duration MapBuffer 1000"
    for how in read later map mapped; do
        beside fill $how read
    done
    export FAKE_CL="duration WriteBuffer 1000000; duration ReadBuffer 1000; duration FillBuffer 1000"
    beside write later fill
done
report
