#!/usr/bin/env bash
# The same program on one device without Baton and on several with it: the same bytes in every case.
# Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
cases=$build/tests/spread/spread-cases
export POCL_DEVICES="basic basic basic"

spread() { # GPUS [CASE]
    rm -f "$scratch/stats"
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=$1 BATON_STATS=$scratch/stats timeout 900 \
        "$cases" ${2:+"$2"} >"$scratch/several" 2>"$scratch/errors" || echo "status $?" >>"$scratch/several"
}

same() { # NAME, after spread
    diff "$scratch/one" "$scratch/several" >"$scratch/diff"
    verdict $? "$1 ($(head -n 3 "$scratch/diff" | tr '\n' ' ') $(head -c 300 "$scratch/errors"))"
}

# docs/statistics.md, "Measures of a job": exact but for the six digits of a ms.
adds_up() { # NAME, after spread
    python3 - "$scratch/stats" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
assert abs(s["compute_occupying_ms"] + s["copy_occupying_ms"] - s["occupying_ms"]) < 1e-5, s
assert abs(s["occupying_ms"] + s["pending_ms"] - s["response_ms"]) < 1e-5, s
assert s["jobs"]["n"] > 0 and s["compute_occupying_ms"] > 0 and s["copy_occupying_ms"] > 0, s
PY
    verdict $? "$1: response is occupying and pending ($(cat "$scratch/stats"))"
}

"$cases" >"$scratch/one"
verdict $? "one device alone"
[ "$(wc -l <"$scratch/one")" -gt 50 ]
verdict $? "every case speaks"

spread 2
same "two devices, the same bytes"
[ "$(number split_launches)" -gt 45 ] && [ "$(number merged_bytes)" -gt 1000000 ] &&
    [ "$(number moved_bytes)" -gt 1000000 ]
verdict $? "launches were split and merged ($(number split_launches), $(number merged_bytes))"
[ "$(number disagreements)" -ge 1 ] && [ "$(number disagreements)" -le 3 ]
verdict $? "a disagreement was found once, then remembered ($(number disagreements))"

spread all
same "three devices, the same bytes"
adds_up "three devices"
BATON_TEST_QUEUE=1 spread 2
same "two devices, everything through the graph"
BATON_SLICE=16 BATON_CHUNK=10000 spread 2
same "two devices, shares in small pieces, copies in chunks"
[ "$(number pieces)" -gt 1000 ]
verdict $? "the shares ran in pieces ($(number pieces))"
spread auto
same "auto, the same bytes"
spread 1
same "--gpus 1, the same bytes"
[ "$(number split_launches)" -eq 0 ] && [ "$(number moved_bytes)" -eq 0 ]
verdict $? "--gpus 1 splits nothing"

spread 2 atomics
[ "$(number split_launches)" -eq 0 ]
verdict $? "a kernel with global atomics is not split"
spread 2 early_release
[ "$(number split_launches)" -eq 6 ] && [ "$(number merged_bytes)" -eq $((3 * 4 * 65536)) ]
verdict $? "results that no command reads are never merged ($(number merged_bytes))"
spread 2 own_writes
[ "$(number split_launches)" -eq 2 ] && [ "$(number merged_bytes)" -lt $((2 * 4 * 65536)) ]
verdict $? "known writes are gathered without comparing ($(number merged_bytes))"

# A case by itself, and how many of its launches are split (of groups_apart all but the one whose
# groups share elements).
for kind in groups_apart:4 images:12 volumes:9 mapped_images:3 linked:4; do
    spread 2 "${kind%:*}"
    [ "$(number split_launches)" -eq "${kind#*:}" ]
    verdict $? "${kind%:*}: every launch is split ($(number split_launches) of ${kind#*:})"
done

spread all groups_meet
[ "$(number split_launches)" -eq 0 ] && [ "$(number reads-other-groups)" -eq 3 ]
verdict $? "launches whose groups read what others write stay on one device ($(number \
    reads-other-groups) of 3)"

spread all groups_shared
[ "$(number split_launches)" -eq 0 ] && [ "$(number reads-other-groups)" -eq 5 ]
verdict $? "launches whose groups have elements in common stay on one device ($(number \
    reads-other-groups) of 5)"

# With a daemon: shares take leases of their devices' engines.
start_daemon
spread 2
same "two devices under a daemon"
adds_up "two devices under a daemon"
[ "$(number split_launches)" -gt 45 ]
verdict $? "launches were split under a daemon ($(number split_launches))"
# Beside a program that splits its launches over the same devices, again and again.
touch "$scratch/go"
while [ -e "$scratch/go" ]; do
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=2 timeout 900 "$cases" own_writes || echo "status $?"
done >"$scratch/beside" 2>/dev/null &
beside=$!
wait_for_holder $beside
spread 2
same "two programs that share two devices: the one"
rm "$scratch/go"
wait $beside
grep own_writes "$scratch/one" >"$scratch/expected"
[ -s "$scratch/beside" ] && ! grep -vxFf "$scratch/expected" "$scratch/beside"
verdict $? "two programs that share two devices: the other"

# A job's GPU is the daemon's choice: beside a program that keeps the first one busy it is another
# one, and the data follows.
touch "$scratch/go"
OPENCL_LAYERS=$build/libbaton-layer.so timeout 7200 \
    "$build/tests/spread/spread-load" horner 2 2 "$scratch/go" >/dev/null 2>&1 &
hog=$!
is_busy() { daemon_status | grep -q '"busy"'; }
await $hog is_busy # however long its first build takes
verdict $? "the first device is busy"
for placement in chosen any; do
    BATON_PLACEMENT=$placement spread 1
    same "placement $placement beside a busy device"
    adds_up "placement $placement beside a busy device"
    [ "$(number placed_launches)" -gt 10 ] && [ "$(number moved_bytes)" -gt 0 ]
    verdict $? "placement $placement moves launches ($(number placed_launches))"
done
rm "$scratch/go"
wait $hog
verdict $? "the busy program has run until it was told to end"

# The plan says how many GPUs; the command line may say otherwise.
cat >"$scratch/plan.yaml" <<'PLAN'
analysis: holistic
profile: priority
tasks:
  - {name: cases, priority: 50, gpus: 2, placement: chosen, piece_ms: 0.5}
  - {name: single, priority: 40, gpus: 1, placement: [0], piece_ms: 0.5}
PLAN
start_daemon --plan "$scratch/plan.yaml"
planned() { # OPTIONS
    rm -f "$scratch/stats"
    timeout 900 "$build/baton" run --require-daemon --name cases "$@" \
        --stats "$scratch/stats" \
        -- "$cases" own_writes >/dev/null 2>&1
}
planned && [ "$(number split_launches)" -eq 2 ]
verdict $? "without --gpus the plan is followed ($(number split_launches))"
planned --gpus auto && [ "$(number split_launches)" -eq 2 ]
verdict $? "--gpus auto follows the plan ($(number split_launches))"
learns() { # NAME LAUNCHES [FILE]: long kernels, which auto would split
    rm -f "$scratch/stats"
    timeout 900 "$build/baton" run --name "$1" --gpus auto --stats "$scratch/stats" -- \
        "$build/tests/spread/spread-load" horner 1 "${@:2}" >"$scratch/out" 2>&1
}
learns single 14
[ "$(number kernel_launches)" -eq 14 ] && [ "$(number split_launches)" -eq 0 ]
verdict $? "--gpus auto follows a plan that says one GPU ($(number split_launches))"
# It goes on until the program is built for the second device, however long that takes.
touch "$scratch/go"
before=$(grants_of gpu1)
learns other 14 "$scratch/go" &
learner=$!
is_tried() { [ "$(grants_of gpu1)" -gt "$before" ]; }
await $learner is_tried
verdict $? "--gpus auto runs on the second device"
rm "$scratch/go"
wait $learner
[ "$(number split_launches)" -ge 1 ]
verdict $? "--gpus auto tries where there is no plan ($(number split_launches))"
planned --gpus 1 && [ "$(number split_launches)" -eq 0 ]
verdict $? "--gpus 1 overrides the plan ($(number split_launches))"
report
