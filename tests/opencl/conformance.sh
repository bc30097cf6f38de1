#!/usr/bin/env bash
# The conformance program with and without the layer: the same lines, on the fake driver and on
# PoCL, whatever way the commands take. Ends with `N passed, N failed`.
# usage: BATON_BUILD=build tests/opencl/conformance.sh
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
program=$build/tests/conformance/conformance
fake=$build/tests/fake_driver/libfake-opencl.so
layer=$build/libbaton-layer.so

# The layer's lines against a reference; further arguments are environment settings.
same() { # NAME REFERENCE [VARIABLE=VALUE...]
    local name=$1 reference=$2 status=0
    shift 2
    rm -f "$scratch/stats"
    OPENCL_LAYERS=$layer BATON_STATS=$scratch/stats env "$@" timeout 900 "$program" >"$scratch/lines" \
        2>"$scratch/errors" || status=$?
    [ $status -eq 0 ] || echo "$name: exit $status"
    # the loader says nothing when it leaves a layer out, and the lines are equal
    if [ ! -s "$scratch/stats" ]; then
        echo "$name: the layer was not loaded"
        status=1
    fi
    if ! diff "$reference" "$scratch/lines" >"$scratch/diff"; then
        head -n 10 "$scratch/diff"
        status=1
    fi
    verdict $status "$name"
}

OCL_ICD_VENDORS=$fake "$program" >"$scratch/fake" 2>/dev/null
verdict $? "the program runs on the fake driver"
[ "$(wc -l <"$scratch/fake")" -gt 200 ]
verdict $? "and has a line for every call and case ($(wc -l <"$scratch/fake"))"
OCL_ICD_VENDORS=$fake "$program" >"$scratch/again" 2>/dev/null
cmp -s "$scratch/fake" "$scratch/again"
verdict $? "its lines are the same every time"

same "fake, at once" "$scratch/fake" OCL_ICD_VENDORS="$fake"
same "fake, everything queued" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_TEST_QUEUE=1
same "fake, small chunks" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_CHUNK=1000
same "fake, queued in odd chunks" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_CHUNK=333 BATON_TEST_QUEUE=1
same "fake, one group a piece" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_SLICE=1
same "fake, three groups a piece, chunks" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_SLICE=3 \
    BATON_CHUNK=700
same "fake, a program of the plan: one command at a time" "$scratch/fake" OCL_ICD_VENDORS="$fake" \
    BATON_TASK=planned
same "fake, synchronous" "$scratch/fake" OCL_ICD_VENDORS="$fake" FAKE_CL=sync
same "fake, synchronous, one group a piece" "$scratch/fake" OCL_ICD_VENDORS="$fake" FAKE_CL=sync BATON_SLICE=1
same "fake, slow commands" "$scratch/fake" OCL_ICD_VENDORS="$fake" \
    FAKE_CL="duration NDRangeKernel 200;duration ReadBuffer 100"
same "fake, slow commands, queued" "$scratch/fake" OCL_ICD_VENDORS="$fake" BATON_TEST_QUEUE=1 \
    FAKE_CL="duration NDRangeKernel 200;duration WriteBuffer 100"

same "fake, groups too large for rewritten kernels" "$scratch/fake" OCL_ICD_VENDORS="$fake" \
    FAKE_CL="twin_group 2" BATON_SLICE=1

# A driver that lets the last group of a row be smaller.
OCL_ICD_VENDORS=$fake FAKE_CL=uneven "$program" >"$scratch/uneven" 2>/dev/null
! cmp -s "$scratch/fake" "$scratch/uneven"
verdict $? "uneven groups show in the lines"
same "fake with uneven groups" "$scratch/uneven" OCL_ICD_VENDORS="$fake" FAKE_CL=uneven BATON_SLICE=1
same "fake with uneven groups, queued" "$scratch/uneven" OCL_ICD_VENDORS="$fake" FAKE_CL=uneven \
    BATON_TEST_QUEUE=1

# Failures: calls that the driver refuses (the calling thread must see them where it asks at once),
# commands that end badly.
for script in "fail ReadBuffer 3 -5" "fail CreateUserEvent 2 -6" "fail MapBuffer 2 -12" \
    "fail BuildProgram 2 -11"; do
    OCL_ICD_VENDORS=$fake FAKE_CL=$script timeout 900 "$program" events objects kernels >"$scratch/failing" \
        2>/dev/null
    OPENCL_LAYERS=$layer OCL_ICD_VENDORS=$fake FAKE_CL=$script timeout 900 "$program" events objects kernels \
        >"$scratch/lines" 2>/dev/null
    diff "$scratch/failing" "$scratch/lines" | head -n 6
    cmp -s "$scratch/failing" "$scratch/lines"
    verdict $? "fake, $script"
done
for call in NDRangeKernel ReadBuffer Marker MapBuffer; do
    for way in BATON_TEST_QUEUE=1 BATON_CHUNK=off; do
        OPENCL_LAYERS=$layer OCL_ICD_VENDORS=$fake FAKE_CL="abort $call 0 -5" env $way timeout 900 \
            "$program" calls >"$scratch/lines" 2>/dev/null
        verdict $? "fake, every $call aborts, $way: ends"
        grep -E "^$call(WithWaitList)?/" "$scratch/lines" >"$scratch/aborted"
        [ "$(wc -l <"$scratch/aborted")" -ge 5 ] && ! grep -v 'status -1' "$scratch/aborted"
        verdict $? "fake, every $call aborts, $way: the failure is seen"
    done
done

# PoCL: pthread is the reference, since plain basic hangs on commands gated by user events.
if ! POCL_DEVICES=pthread timeout 900 "$program" >"$scratch/plain" 2>/dev/null; then
    echo "PoCL is not usable here: its part is left out"
else
    same "pocl pthread, at once" "$scratch/plain" POCL_DEVICES=pthread
    same "pocl pthread, everything queued" "$scratch/plain" POCL_DEVICES=pthread BATON_TEST_QUEUE=1
    same "pocl pthread, one group a piece" "$scratch/plain" POCL_DEVICES=pthread BATON_SLICE=1
    pieces=$(sed -n 's/.*"pieces": \([0-9]*\).*/\1/p' "$scratch/stats")
    [ "${pieces:-0}" -gt 10000 ]
    verdict $? "pocl pthread, one group a piece: kernels really ran in pieces (${pieces:-none})"
    same "pocl pthread, whole kernels, 4 KiB chunks" "$scratch/plain" POCL_DEVICES=pthread BATON_SLICE=off \
        BATON_CHUNK=4KiB
    same "pocl basic, at once" "$scratch/plain" POCL_DEVICES=basic
    same "pocl basic, one group a piece, chunks" "$scratch/plain" POCL_DEVICES=basic BATON_SLICE=1 \
        BATON_CHUNK=1000
fi
report
