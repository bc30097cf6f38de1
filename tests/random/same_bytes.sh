#!/usr/bin/env bash
# Random OpenCL programs against their own model (world.h), without Baton and with it, whatever way
# the commands take: the same hashes. A failure says the seed, the way, the fewest steps that still
# fail, and the command that repeats it. BATON_SOAK=1: more seeds (BATON_SEEDS says how many) and
# more ways. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
random=$build/tests/random/random
layer=$build/libbaton-layer.so
fake=OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
rival=
trap 'rm -f "$scratch/go"; [ -z "$rival" ] || wait "$rival"; finish' EXIT
soak=${BATON_SOAK:-}
# The few programs of `make test` stay compiled for the next run; the many of the soak do not.
if [ -n "$soak" ]; then export POCL_CACHE_DIR=$scratch/pocl && mkdir "$POCL_CACHE_DIR"; fi
seeds=${BATON_SEEDS:-$([ -n "$soak" ] && echo 200 || echo 3)}
repeats=$([ -n "$soak" ] && echo 100 || echo 4)
limit=$([ -n "$soak" ] && echo 3000 || echo 900) # seconds for one way

# The fewest steps with which one of three runs of the seed still fails, by halves.
shrink() { # SEED SETTINGS... -- OPTIONS...
    local seed=$1 steps=60 n words=() status
    shift
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    for n in 30 15 8 4 2; do
        status=0
        for _ in 1 2 3; do
            env "${words[@]}" timeout 900 "$random" "$@" -n $n "$seed" >/dev/null 2>&1 || status=1
        done
        [ $status -ne 0 ] || break
        steps=$n
    done
    echo "$steps"
}

explain() { # STATUS REFERENCE SETTINGS... -- OPTIONS...
    local status=$1 reference=$2 seed words
    shift 2
    words="$*"
    grep -v '^[0-9]* [0-9a-f]*$' "$scratch/lines" | head -n 5
    seed=$(diff "$reference" "$scratch/lines" | sed -n 's/^< \([0-9]*\) .*/\1/p' | head -n 1)
    echo "status $status, seed ${seed:-unknown}, fewest steps: $([ -z "$seed" ] || shrink "$seed" "$@")"
    echo "repeat: env ${words%% -- *} $random ${words##* -- } ${seed:-1}"
}

# What the programs read without Baton.
plain() { # REFERENCE SETTINGS... -- OPTIONS...
    local reference=$scratch/$1 words=()
    shift
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    env "${words[@]}" timeout "$limit" "$random" "$@" 1 "$seeds" >"$reference" 2>&1
    verdict $? "without Baton, $* ($(grep -v '^[0-9]* [0-9a-f]*$' "$reference" | head -n 2 | tr '\n' ' '))"
}

# One run of the programs under Baton, held against the reference; how often FIELD was counted.
run_way() { # REFERENCE FIELD SETTINGS... -- OPTIONS...
    local reference=$1 field=$2 words=(OPENCL_LAYERS="$layer")
    shift 2
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    rm -f "$scratch/stats"
    timeout "$limit" env "${words[@]}" BATON_STATS="$scratch/stats" "$random" "$@" 1 "$seeds" \
        >"$scratch/lines" 2>&1
    status=$?
    cmp -s "$reference" "$scratch/lines" || status=$((status ? status : 1))
    [ $status -eq 0 ] || explain $status "$reference" "${words[@]}" -- "$@"
    seen=$(sed -n "s/.*\"$field\": \([0-9]*\).*/\1/p" "$scratch/stats" 2>/dev/null | head -n 1)
}

# The same under Baton. The statistics show that it was there, and did what the way is about: FIELD
# is above zero.
way() { # NAME REFERENCE FIELD SETTINGS... -- OPTIONS...
    local name=$1 reference=$scratch/$2 field=$3 status=0 seen=
    shift 3
    run_way "$reference" "$field" "$@"
    verdict $status "$name"
    [ "${seen:-0}" -gt 0 ]
    verdict $? "$name: $field is ${seen:-nowhere}"
    [ -z "$soak" ] || echo "$name: $seeds seeds, $field $seen"
}

# The same program again and again: what happens once in ten runs.
again() { # NAME SEED SETTINGS... -- OPTIONS...
    local name=$1 seed=$2 words=(OPENCL_LAYERS="$layer") bad=0
    shift 2
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    for _ in $(seq "$repeats"); do
        env "${words[@]}" timeout 900 "$random" "$@" "$seed" >"$scratch/lines" 2>&1 ||
            { bad=$((bad + 1)); tail -n 2 "$scratch/lines"; }
    done
    verdict $bad "$name: seed $seed, $bad of $repeats runs"
    [ -z "$soak" ] || echo "$name: seed $seed $repeats times"
}

# More urgent programs on the same device, one after the other: they make the other one yield.
start_rivals() { # SETTINGS... -- OPTIONS...
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    : >"$scratch/go"
    : >"$scratch/rival"
    for seed in $(seq 1000 9999); do
        [ -e "$scratch/go" ] || break
        env "${words[@]}" OPENCL_LAYERS="$layer" BATON_PRIORITY=80 \
            timeout 900 "$random" "$@" -n 20 "$seed" >>"$scratch/rival" 2>&1 ||
            echo "the rival's seed $seed" >>"$scratch/rival"
        sleep 0.1
    done &
    rival=$!
    wait_for_holder $rival
}

# A more urgent program on the fake driver that is there all the time: by a virtual clock it wants
# the device every half millisecond.
start_rival() { # SETTING...
    : >"$scratch/go"
    env "$@" OPENCL_LAYERS="$layer" BATON_PRIORITY=80 \
        "$build/tests/opencl/layer-load" "$scratch/go" 1 0.5 >"$scratch/rival" 2>&1 &
    rival=$!
    wait_for_holder $rival
}

stop_rival() {
    rm "$scratch/go"
    wait "$rival"
    verdict $? "the rival ends well ($(tail -n 1 "$scratch/rival"))"
    rival=
}

plain alone POCL_DEVICES=pthread --
plain relay POCL_DEVICES=pthread -- -r
plain fake "$fake" -- -p
plain worlds "$fake" -- -p -t 2

way "queued" alone kernel_launches POCL_DEVICES=basic BATON_TEST_QUEUE=1 --
way "in pieces" alone pieces POCL_DEVICES=basic BATON_SLICE=64 BATON_CHUNK=4KiB --
way "asynchronous" alone kernel_launches POCL_DEVICES=pthread --
way "asynchronous, two threads" relay pieces POCL_DEVICES=pthread BATON_SLICE=64 BATON_CHUNK=4KiB -- -r
way "two devices" alone split_launches "POCL_DEVICES=basic basic" BATON_GPUS=all --
way "fake driver" fake kernel_launches "$fake" -- -p
way "fake driver, in pieces" fake pieces "$fake" BATON_SLICE=2 BATON_CHUNK=4KiB -- -p
way "fake driver, queued, two programs" worlds kernel_launches "$fake" BATON_TEST_QUEUE=1 -- -p -t 2
way "fake driver, of a plan, two programs" worlds kernel_launches "$fake" BATON_TASK=planned -- -p -t 2
way "of a plan, two threads" relay kernel_launches POCL_DEVICES=basic BATON_TASK=planned -- -r
again "two devices" 23 "POCL_DEVICES=basic basic" BATON_GPUS=all --
again "two devices" 5 "POCL_DEVICES=basic basic" BATON_GPUS=all -- -g
if [ -n "$soak" ]; then
    way "queued, two threads" relay kernel_launches POCL_DEVICES=basic BATON_TEST_QUEUE=1 -- -r
    way "three devices" alone split_launches "POCL_DEVICES=basic basic basic" BATON_GPUS=all --
    way "any device" alone kernel_launches "POCL_DEVICES=basic basic" BATON_PLACEMENT=any --
    way "one group at a time" alone pieces POCL_DEVICES=basic BATON_SLICE=1 BATON_CHUNK=4KiB --
    way "two devices, two threads" relay split_launches "POCL_DEVICES=basic basic" BATON_GPUS=all -- -r
    way "fake driver, calls that run" fake pieces "$fake" FAKE_CL=sync BATON_SLICE=2 -- -p
    again "asynchronous" 2 POCL_DEVICES=pthread --
fi

start_daemon
start_rivals POCL_DEVICES=basic --
way "with rivals" alone pieces POCL_DEVICES=basic BATON_SLICE=64 BATON_PRIORITY=20 --
stop_rival
! grep -v '^[0-9]* [0-9a-f]*$' "$scratch/rival"
verdict $? "the rivals' own results"
start_rivals "$fake" "FAKE_CL=group_ns scale 20000; group_ns add 20000" -- -p
way "fake driver, with rivals" fake kernel_launches "$fake" \
    "FAKE_CL=group_ns scale 20000; group_ns add 20000" BATON_PRIORITY=20 -- -p
stop_rival
! grep -v '^[0-9]* [0-9a-f]*$' "$scratch/rival"
verdict $? "the rivals' own results on the fake driver"
if start_clock; then # else nothing makes the other one yield for certain
    start_daemon
    clocked=("$fake" "FAKE_CL=group_ns scale 20000; group_ns add 20000" "${on_clock[@]:1}")
    start_rival "${clocked[@]}"
    way "fake driver, giving way" fake yields "${clocked[@]}" BATON_PRIORITY=20 -- -p
    stop_rival
fi
report
