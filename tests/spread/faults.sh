#!/usr/bin/env bash
# Split launches on the fake driver: devices of different speed, devices that fail, programs that
# die. The program adds one to each element per launch, in place, and counts what is wrong. Under a
# virtual clock, so that the script alone says what takes how long. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
load=$build/tests/opencl/layer-load
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
start_clock

spread() { # SCRIPT LAUNCHES GROUPS [DEPTH [COPIES]]
    rm -f "$scratch/stats" "$scratch/log"
    FAKE_CL=$1 FAKE_CL_LOG=$scratch/log OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=${GPUS:-2} \
        BATON_STATS=$scratch/stats timeout 900 "${on_clock[@]}" "$load" "$2x" "$3" 0 "${@:4}" \
        >"$scratch/out" 2>&1
}

# Never wrong data: every result right, or the program was told the driver's error.
honest() { # NAME
    grep -qE "wrong 0, code 0$|code -[0-9]+$" "$scratch/out"
    verdict $? "$1 ($(cat "$scratch/out"))"
}

groups_of() { # QUEUE: work-groups that it ran
    awk -v queue="$1" '$1 == "NDRangeKernel" && $2 == queue { n += $5 } END { print n + 0 }' "$scratch/log"
}

spread "group_ns scale 20000" 20 400
verdict $? "two equal devices: nothing wrong ($(cat "$scratch/out"))"
[ "$(number split_launches)" -eq 20 ] && [ "$(number kernel_launches)" -eq 20 ]
verdict $? "two equal devices: every launch is split ($(number split_launches) of $(number kernel_launches))"
# 400 groups of 0.02 ms on two devices: 4 ms.
grep -q ", max 4.0 ms" "$scratch/out"
by_clock $? "two equal devices take half the time ($(cat "$scratch/out"))"

# Three quarters of the groups belong on a device that is three times as fast: of the first launch,
# whose speed nothing is known of, half, then 300 of 400.
spread "group_ns scale 100000; slow 1 300" 20 400
verdict $? "unequal devices: nothing wrong ($(cat "$scratch/out"))"
[ "$(groups_of 0)" -eq $((200 + 19 * 300)) ] && [ "$(groups_of 1)" -eq $((200 + 19 * 100)) ]
by_clock $? "unequal devices: shares follow the speed ($(groups_of 0) : $(groups_of 1))"

spread "group_ns scale 5000; abort_on 1 3 -5" 20 200
verdict $? "a device that fails in the middle once ($(cat "$scratch/out"))"
spread "group_ns scale 5000; abort_on 1 0 -5" 20 200
verdict $? "a device that always fails ($(cat "$scratch/out"))"
spread "group_ns scale 5000; fail CreateBuffer 2 -4" 20 200
verdict $? "no memory on the second device ($(cat "$scratch/out"))"
spread "group_ns scale 5000; fail CreateContext 2 -6" 12 200
verdict $? "no context on the second device ($(cat "$scratch/out"))"
[ "$(number split_launches)" -eq 0 ]
verdict $? "no context on the second device: one device does it"
spread "group_ns scale 5000; fail CreateCommandQueue 2 -6" 12 200
verdict $? "no queue on the second device ($(cat "$scratch/out"))"
spread "group_ns scale 5000; fail BuildProgram 3 -11" 12 200
verdict $? "a program that does not build on the second device ($(cat "$scratch/out"))"
[ "$(number split_launches)" -eq 0 ]
verdict $? "a program that does not build there: one device does it"
for nth in 1 2 3 4 5; do
    spread "group_ns scale 5000; fail MapBuffer $nth -12" 12 200
    verdict $? "map $nth fails ($(cat "$scratch/out"))"
    # At home the launch has failed, and its event says so; elsewhere home does the work.
    spread "group_ns scale 5000; fail SetKernelArg $((nth + 4)) -40" 12 200
    grep -qE "wrong 0, code 0|code -40" "$scratch/out"
    verdict $? "argument $((nth + 4)) cannot be set ($(cat "$scratch/out"))"
done
spread "group_ns scale 5000; fail WriteBuffer 1 -4" 12 200
verdict $? "a copy to the second device fails ($(cat "$scratch/out"))"
# Home itself fails: in the middle, always, after the other one, both.
for nth in 1 2 5 0; do
    spread "group_ns scale 5000; abort_on 0 $nth -5" 12 200
    grep -q "code -5" "$scratch/out"
    verdict $? "home fails at launch $nth: the program is told ($(cat "$scratch/out"))"
done
spread "group_ns scale 5000; abort_on 0 3 -5; abort_on 1 2 -5" 12 200
honest "one fails, then the other"
spread "group_ns scale 5000; abort_on 0 0 -5; abort_on 1 0 -5" 12 200
honest "both fail always"
# Any call, on whichever device it comes: a launch, a kernel object, a copy that is refused, a copy
# that ends badly.
for nth in 1 2 3 4 5 6; do
    for fault in "fail NDRangeKernel $nth -5" "fail WriteBuffer $nth -4" "fail ReadBuffer $nth -4" \
        "abort WriteBuffer $nth -14" "abort ReadBuffer $nth -14" "abort MapBuffer $nth -12"; do
        spread "group_ns scale 2000; $fault" 8 200 1 1
        honest "$fault"
    done
done
# Home refuses the results once, and the other device's copy cannot be mapped when a command asks
# again.
for nth in 2 3 4 5; do
    spread "group_ns scale 2000; fail WriteBuffer 2 -4; fail MapBuffer $nth -12" 8 200 1 1
    honest "home refuses, then map $nth fails"
done
spread "group_ns scale 5000; fail CreateKernel 3 -6" 12 200
honest "no kernel on the second device"
# Launches of 80 ms: one that warms up and three that are known (GROWTH_ENOUGH) run on one device;
# then one that warms up several, and trials, which win.
GPUS=auto spread "group_ns scale 200000" 30 400
verdict $? "auto: nothing wrong ($(cat "$scratch/out"))"
[ "$(number split_launches)" -ge 24 ]
by_clock $? "auto: long kernels are split once they are known ($(number split_launches) of $(number \
    kernel_launches))"
# 4 groups of 0.0001 ms: far below DECIDE_LEAST, 1 ms.
GPUS=auto spread "group_ns scale 100" 300 4
[ "$(number split_launches)" -eq 0 ]
by_clock $? "auto: short kernels are not ($(number split_launches) of $(number kernel_launches))"

# Copies that take longer than the kernel (10 ms): a trial or two, then one device.
GPUS=auto spread \
    "group_ns scale 25000; duration WriteBuffer 15000; duration MapBuffer 15000; duration ReadBuffer 15000" \
    40 400 1 1
verdict $? "auto, dear copies: nothing wrong ($(cat "$scratch/out"))"
[ "$(number kernel_launches)" -eq 40 ] && [ "$(number split_launches)" -le 2 ]
by_clock $? "auto, dear copies: hardly ever split ($(number split_launches) of $(number kernel_launches))"

start_daemon
export BATON_SOCKET=$scratch/socket

# The first launch of all is halved because nothing is known of a device that is ten times slower:
# the boundary moves while it runs (ideal: 364 of 400 groups). When the fast one has done its 200 in
# 40 ms, the slow one has done 20 of its own and gives half of the other 180 away: 290, and so on.
for slow in 1 0; do
    spread "group_ns scale 200000; slow $slow 1000" 1 400
    verdict $? "the boundary moves into device $slow's half: nothing wrong ($(cat "$scratch/out"))"
    [ "$(groups_of $((1 - slow)))" -gt 250 ] && [ $(($(groups_of 0) + $(groups_of 1))) -eq 400 ]
    by_clock $? "the boundary moves into device $slow's half ($(groups_of 0) : $(groups_of 1))"
done

has_run() { # LAUNCHES
    [ "$(grep -c '^NDRangeKernel' "$scratch/log" 2>/dev/null)" -ge "$1" ] 2>/dev/null
}

# A program killed between split and merge: both devices are free for the next one.
for commands in 1 10 25; do # that have ended, while others run
    rm -f "$scratch/log"
    FAKE_CL="group_ns scale 100000; duration MapBuffer 20000" FAKE_CL_LOG=$scratch/log \
        OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=2 "${on_clock[@]}" \
        "$load" 1000000x 400 0 1 1 >/dev/null 2>&1 &
    victim=$!
    await $victim has_run "$commands" && kill -KILL $victim
    verdict $? "a program is killed after $commands launches"
    wait $victim 2>/dev/null
done
spread "group_ns scale 20000" 20 400
verdict $? "after a program was killed in a split launch ($(cat "$scratch/out"))"
[ "$(number split_launches)" -eq 20 ]
verdict $? "after a program was killed both devices work ($(number split_launches))"

# Two programs split at the same time: each waits for the other's devices, none for ever.
touch "$scratch/go"
FAKE_CL="group_ns scale 10000" OPENCL_LAYERS=$build/libbaton-layer.so BATON_GPUS=2 \
    BATON_PRIORITY=10 timeout 900 "${on_clock[@]}" "$load" "$scratch/go" 300 0 >"$scratch/other" 2>&1 &
other=$!
wait_for_holder $other
BATON_PRIORITY=80 spread "group_ns scale 10000" 100 300
verdict $? "two programs split at once: the urgent one ($(cat "$scratch/out"))"
rm "$scratch/go"
wait $other
verdict $? "two programs split at once: the other one ($(cat "$scratch/other"))"

# Placement: beside a program that keeps device 0 busy, the daemon gives device 1; there are no
# copies but the first: the result is read from there.
FAKE_CL="group_ns scale 100000" OPENCL_LAYERS=$build/libbaton-layer.so "${on_clock[@]}" \
    "$load" 1000000x 2000 0 >/dev/null 2>&1 &
hog=$!
wait_for_holder $hog
export BATON_PLACEMENT=chosen
GPUS=1 spread "group_ns scale 20000" 20 300
verdict $? "a placed job: nothing wrong ($(cat "$scratch/out"))"
[ "$(number placed_launches)" -gt 0 ] && [ "$(number moved_bytes)" -eq $((300 * 4 * 4)) ]
verdict $? "a placed job stays where its data is ($(number placed_launches), $(number moved_bytes) bytes)"
# With an upload and a download for each launch: the upload goes straight to the chosen device, so
# what is moved is the data it had at first, and each result on its way home.
GPUS=1 spread "group_ns scale 20000" 20 300 1 1
verdict $? "uploads to the chosen device: nothing wrong ($(cat "$scratch/out"))"
[ "$(number placed_launches)" -gt 0 ] &&
    [ "$(number moved_bytes)" -le $((($(number placed_launches) + 2) * 300 * 4 * 4)) ]
verdict $? "uploads go straight to the chosen device ($(number placed_launches) launches, $(number \
    moved_bytes) bytes)"
GPUS=1 spread "group_ns scale 20000; fail WriteBuffer 3 -4" 20 300 1 1
honest "an upload that the chosen device refuses"
BATON_PLACEMENT=any GPUS=1 spread "group_ns scale 20000" 20 300 1 1
verdict $? "any free device: nothing wrong ($(cat "$scratch/out"))"
[ "$(number placed_launches)" -gt 0 ] &&
    [ "$(number moved_bytes)" -le $((($(number placed_launches) + 2) * 300 * 4 * 4)) ]
verdict $? "any free device finds its input in place ($(number placed_launches) launches, $(number \
    moved_bytes) bytes)"
GPUS=1 spread "group_ns scale 20000; abort_on 1 1 -5" 20 300
verdict $? "the chosen device fails at the first launch ($(cat "$scratch/out"))"
GPUS=1 spread "group_ns scale 20000; fail CreateBuffer 2 -4" 20 300
verdict $? "no memory on the chosen device ($(cat "$scratch/out"))"
unset BATON_PLACEMENT
kill $hog
wait $hog 2>/dev/null
report
