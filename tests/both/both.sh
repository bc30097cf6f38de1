#!/usr/bin/env bash
# Programs that use OpenCL (PoCL) and CUDA (the CPU device): the same results as without Baton, one
# client of batond, one set of statistics and records, whichever API comes first, and nothing left
# behind. usage: both.sh results|one|ends. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
device=$build/cuda-cpu
both=$build/tests/both/both
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CACHE_DIR=$build/tests/both/cache BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"
[ "${BATON_SANITIZER:-none}" = none ] || export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

plain() { env LD_LIBRARY_PATH="$device:$build" "$@"; }
# The PoCL device has the PCI address of the CUDA device: one GPU that two APIs list.
one_gpu=(env OPENCL_LAYERS="$build/tests/both/libone-gpu.so")
in_place= # exec: the program takes the place of the calling shell
under() { # WAY PROGRAM ...
    local way=$1 before=() with=()
    shift
    case $way in
    queued) before=(env BATON_TEST_QUEUE=1) ;;
    slices) with=(--slice 1 --chunk 4096) ;;
    queued-slices) before=(env BATON_TEST_QUEUE=1) with=(--slice 1 --chunk 4096) ;;
    one-gpu) before=("${one_gpu[@]}") ;;
    one-gpu-queued) before=("${one_gpu[@]}" BATON_TEST_QUEUE=1) with=(--slice 1) ;;
    no-daemon) before=(env -u BATON_REQUIRE_DAEMON) with=(--socket "$scratch/nobody") ;;
    esac
    $in_place env LD_LIBRARY_PATH="$build" "${before[@]}" "$build/baton" run --device cpu --priority 50 \
        --stats "$scratch/stats" "${with[@]}" -- "$@"
}

# Names and counts of a number that a field of the statistics must have.
counts() { # NAME FIELD NUMBER
    [ "$(number "$2")" -eq "$3" ]
    verdict $? "$1: $2 is $3: $(head -c 300 "$scratch/stats")"
}

same() { # WAY PROGRAM ...: as $scratch/plain
    under "$@" >"$scratch/out" 2>"$scratch/err"
    echo "status $?" >>"$scratch/out"
    diff "$scratch/plain" "$scratch/out" >"$scratch/diff"
    verdict $? "$*: $(head -c 300 "$scratch/diff") $(tail -n 1 "$scratch/err")"
}

results() {
    local first mode way
    for first in cuda opencl; do
        for mode in work overlap; do
            plain "$both" $first $mode 20 >"$scratch/plain" 2>/dev/null
            echo "status $?" >>"$scratch/plain"
            [ "$(wc -l <"$scratch/plain")" -eq 21 ]
            verdict $? "$first $mode, plain: $(tail -n 2 "$scratch/plain")"
            for way in idle queued slices queued-slices one-gpu one-gpu-queued no-daemon; do
                same $way "$both" $first $mode 20
                counts "$first $mode, $way" kernel_launches 40
                counts "$first $mode, $way" copies 80
            done
        done
    done
    # Two such programs beside each other, on one GPU and on two.
    for way in slices one-gpu-queued; do
        touch "$scratch/go"
        rm -f "$scratch/go.ready"
        under $way "$both" cuda until "$scratch/go" >/dev/null 2>"$scratch/other" &
        await $! [ -e "$scratch/go.ready" ]
        verdict $? "the program beside it works, $way: $(tail -n 1 "$scratch/other")"
        same $way "$both" opencl overlap 20
        rm "$scratch/go"
        wait $!
        verdict $? "the program beside it, $way: $(tail -n 1 "$scratch/other")"
    done
}

# Runs while the file exists; returns once both APIs have worked.
start_both() { # FIRST WAY [MODE]
    touch "$scratch/go"
    rm -f "$scratch/go.ready"
    in_place="exec" under "$2" "$both" "$1" "${3:-until}" "$scratch/go" >"$scratch/out" 2>&1 &
    program=$!
    await $program [ -e "$scratch/go.ready" ] ||
        verdict 1 "$1 first, $2: both APIs work: $(cat "$scratch/out")"
}
end_both() { # NAME
    rm -f "$scratch/go"
    wait "$program"
    verdict $? "$1: ends well: $(tail -n 1 "$scratch/out")"
}
clients() { "$build/baton" status --json | grep -c '"asked_priority"'; }

one_of_each() {
    local first way
    for first in cuda opencl; do
        for way in idle one-gpu; do
            start_both $first $way
            [ "$(clients)" -eq 1 ]
            verdict $? "one client, $first first, $way: $("$build/baton" status)"
            end_both "$first first, $way"
        done
        # A parent that named a job and used neither API: the child is a client of its own.
        start_both $first idle parent
        [ "$(clients)" -eq 2 ]
        verdict $? "parent and child, $first first: $("$build/baton" status)"
        end_both "parent and child, $first first"
        # A wait after each API ends a job: two of each round. Both at once are one.
        under idle "$both" $first work 20 >"$scratch/out" 2>&1
        counts "inferred jobs, $first first" n 40
        under idle "$both" $first overlap 20 >"$scratch/out" 2>&1
        counts "inferred jobs over both, $first first" n 20
        under idle "$both" $first jobs 20 >"$scratch/out" 2>&1
        verdict $? "jobs of the program: $(tail -n 1 "$scratch/out")"
        counts "jobs of the program, $first first" n 20
        counts "jobs of the program, $first first" kernel_launches 40
        under idle "$both" $first early 20 >"$scratch/out" 2>&1
        verdict $? "a job before the first call: $(tail -n 1 "$scratch/out")"
        counts "jobs from before the first call on, $first first" n 21
        recorded $first
    done
    as_a_task
}

# One log of the process, and each job of it has the commands of both.
recorded() { # FIRST
    rm -rf "$scratch/jobs" && mkdir "$scratch/jobs"
    BATON_PROFILE=$scratch/jobs under idle "$both" "$1" jobs 20 >"$scratch/out" 2>&1
    [ "$(find "$scratch/jobs" -type f | wc -l)" -eq 1 ] &&
        [ "$(cat "$scratch"/jobs/* | grep -c '^baton-jobs')" -eq 1 ]
    verdict $? "one log, $1 first: $(head -n 1 "$scratch"/jobs/*)"
    # JOB is the second word, the number of commands the last: two kernels and four copies.
    [ "$(cat "$scratch"/jobs/* | grep -c '^j [0-9]* [0-9]* [0-9]* 1 6$')" -eq 20 ] &&
        [ "$(cat "$scratch"/jobs/* | grep -c '^c .* cuda_turn$')" -eq 20 ] &&
        [ "$(cat "$scratch"/jobs/* | grep -c '^c .* opencl_turn$')" -eq 20 ]
    verdict $? "jobs with the commands of both, $1 first: $(head -c 600 "$scratch"/jobs/*)"
}

as_a_task() {
    cat >"$scratch/tasks.yaml" <<'END'
platform: {cpus: 2, gpus: 1}
tasks:
  - name: programs
    period_ms: 1000
    segments: [{cpu_ms: 1}, {copy_in_ms: 1, bytes: 1 MiB}, {kernel_ms: 20, piece_ms: 0.5}, {cpu_ms: 1}]
END
    "$build/baton" plan "$scratch/tasks.yaml" -o "$scratch/plan.yaml" >"$scratch/out" 2>&1
    verdict $? "a plan: $(tail -n 1 "$scratch/out")"
    start_daemon --plan "$scratch/plan.yaml"
    plain "$both" cuda work 20 >"$scratch/plain" 2>/dev/null
    LD_LIBRARY_PATH=$build "${one_gpu[@]}" "$build/baton" run --device cpu --task programs \
        --stats "$scratch/stats" -- "$both" cuda work 20 >"$scratch/out" 2>&1
    verdict $? "as a task of a plan: $(tail -n 1 "$scratch/out")"
    cmp -s "$scratch/plain" "$scratch/out"
    verdict $? "the same results as a task of a plan"
    counts "as a task of a plan" kernel_launches 40
    counts "as a task of a plan" n 40
    start_daemon
}

# batond knows no client any more, and grants the engines to the next one.
nothing_left() { # NAME
    await "$daemon" has_clients 0
    verdict $? "$1: leaves nothing behind: $(daemon_status | head -c 200)"
    under idle "$both" cuda work 1 >"$scratch/out" 2>&1
    verdict $? "$1: the next program works: $(tail -n 1 "$scratch/out")"
}

# The same end, with the same output, in every way as without Baton.
ends() {
    local first mode way
    for first in cuda opencl; do
        for mode in fork exec killed callback; do
            plain "$both" $first $mode >"$scratch/plain" 2>/dev/null
            echo "status $?" >>"$scratch/plain"
            for way in idle queued slices one-gpu no-daemon; do
                same $way "$both" $first $mode
            done
            nothing_left "$first $mode"
        done
        # The daemon is killed under a program and comes back: one client again, in both APIs.
        for way in slices one-gpu-queued; do
            start_both $first $way
            stop_daemon KILL
            start_daemon
            wait_for_client 1 $program
            [ "$(clients)" -eq 1 ]
            verdict $? "one client after the daemon's restart, $first first, $way"
            end_both "a daemon restarts, $first first, $way"
            nothing_left "$first first, $way: a daemon restarts"
            # Killed by another process while it works.
            start_both $first $way
            kill -KILL "$program"
            { wait "$program"; } 2>/dev/null
            nothing_left "$first first, $way: killed"
        done
    done 2>/dev/null
}

start_daemon
case ${1:-} in
results) results ;;
one) one_of_each ;;
ends) ends ;;
*) echo "usage: both.sh results|one|ends" >&2 && exit 2 ;;
esac
report
