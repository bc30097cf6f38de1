#!/usr/bin/env bash
# CUDA programs under Baton on the CPU device: the same answers and bytes as without it, whatever
# way commands take, and what happens when programs or the daemon end early. usage: front.sh
# answers|random|workloads|failures|nvcc|corners|events|threads. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(dirname "$0")
device=$build/cuda-cpu
kernels=$source/../cuda_conformance/kernels.ptx
conformance=$build/tests/cuda_conformance/cuda-conformance
random=$build/tests/cuda_front/random-host
corners=$build/tests/cuda_front/corners
held=$build/tests/cuda_front/held-events
threads=$build/tests/cuda_front/thread-order
workloads=$build/tests/workloads/workloads-cuda
load=$build/tests/cuda_front/cuda-load
hog=
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
# Compiled kernels stay for the next run: the compiler is most of the time.
export BATON_CACHE_DIR=$build/tests/cuda_front/cache BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"

plain() { env LD_LIBRARY_PATH="$device" "$@"; }
baton() { "$build/baton" run --device cpu --priority 50 "$@"; }
# The ways that commands of one program can take.
under() { # WAY PROGRAM ...
    local way=$1 before=() with=()
    shift
    case $way in
    queued) before=(env BATON_TEST_QUEUE=1) ;;
    slices) with=(--slice 1) ;;
    queued-slices) before=(env BATON_TEST_QUEUE=1) with=(--slice 1) ;;
    auto) with=(--slice auto) ;;
    chunks) with=(--slice 1 --chunk 4096) ;;
    no-daemon) before=(env -u BATON_REQUIRE_DAEMON) with=(--socket "$scratch/nobody") ;;
    esac
    "${before[@]}" "$build/baton" run --device cpu --priority 50 --stats "$scratch/stats" "${with[@]}" -- "$@"
}

start_hog() {
    touch "$scratch/go"
    "$build/baton" run --device cpu --priority 10 -- "$load" "$kernels" hog 5 "$scratch/go" >"$scratch/hog" \
        2>&1 &
    hog=$!
    wait_for_holder $hog
}
stop_hog() {
    rm -f "$scratch/go"
    wait "$hog"
    verdict $? "the hog beside them is well: $(tail -n 1 "$scratch/hog")"
}

# Two of the answers are about the driver's failure injection: which call of a name fails differs,
# since Baton makes calls of its own.
told() { grep -v '^failures: each\|answers, \|passed, ' "$1"; }

answers() {
    local name
    plain "$conformance" "$kernels" >"$scratch/plain" 2>/dev/null
    verdict $? "answers without Baton"
    for name in idle queued queued-slices auto chunks contended no-daemon; do
        [ "$name" != contended ] || start_hog
        under "$name" "$conformance" "$kernels" >"$scratch/$name" 2>/dev/null
        diff <(told "$scratch/plain") <(told "$scratch/$name") >"$scratch/diff"
        verdict $? "answers: $name: $(head -c 300 "$scratch/diff")"
        [ "$name" != contended ] || stop_hog
    done
    # The third call is about memory of a stream that waits for the program.
    BATON_CUDA_CPU_FAIL=cuMemGetAddressRange_v2:3:999 under idle timeout -s KILL $hangs "$conformance" \
        --only streams "$kernels" >"$scratch/streams" 2>/dev/null
    grep '^streams:' "$scratch/plain" | diff - <(grep '^streams:' "$scratch/streams") >"$scratch/diff"
    verdict $? "answers: a range that the driver does not tell at once: $(head -c 300 "$scratch/diff")"
    start_plan
    "$build/baton" run --device cpu --task programs -- "$conformance" "$kernels" >"$scratch/task" 2>/dev/null
    diff <(told "$scratch/plain") <(told "$scratch/task") >"$scratch/diff"
    verdict $? "answers: as a task of a plan: $(head -c 300 "$scratch/diff")"
}

random_programs() { # PROGRAMS: in each of four ways
    local n=$1 first=1
    plain "$random" "$kernels" 1 "$n" >"$scratch/out"
    verdict $? "random programs, plain: $(tail -n 1 "$scratch/out")"
    start_hog
    baton -- "$random" "$kernels" $first "$n" >"$scratch/out"
    verdict $? "random programs beside a hog: $(tail -n 1 "$scratch/out")"
    stop_hog
    first=$((first + n))
    env BATON_TEST_QUEUE=1 "$build/baton" run --device cpu -- "$random" "$kernels" $first "$n" >"$scratch/out"
    verdict $? "random programs, queued: $(tail -n 1 "$scratch/out")"
    first=$((first + n))
    baton --slice 1 -- "$random" "$kernels" $first "$n" >"$scratch/out"
    verdict $? "random programs, --slice 1: $(tail -n 1 "$scratch/out")"
    first=$((first + n))
    env BATON_TEST_QUEUE=1 "$build/baton" run --device cpu --slice 3 --chunk 256 -- "$random" \
        "$kernels" $first "$n" >"$scratch/out"
    verdict $? "random programs, queued, --slice 3 --chunk 256: $(tail -n 1 "$scratch/out")"
}

# A daemon with a plan, whose task is any of these programs.
start_plan() {
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
}

# As a task of a plan: no more in the driver than the plan counts, and pieces as it says.
as_a_task() { # PROGRAMS
    start_plan
    "$build/baton" run --device cpu --task programs --stats "$scratch/stats" -- "$random" "$kernels" 7000 \
        "$1" >"$scratch/out" 2>&1
    verdict $? "random programs as a task of a plan: $(tail -n 1 "$scratch/out")"
    [ "$(number n)" -gt 0 ]
    verdict $? "their jobs are counted: $(head -c 200 "$scratch/stats")"
}

# What a program prints and its status, the same as in $scratch/plain.
same() { # NAME, then the command
    local name=$1
    shift
    "$@" >"$scratch/out" 2>&1
    echo "status $?" >>"$scratch/out"
    diff "$scratch/plain" "$scratch/out" >"$scratch/diff"
    verdict $? "$name: $(head -c 300 "$scratch/diff")"
}

# Kernels are compiled without optimisation: how fast they run is of no interest here.
quick_kernels() {
    export BATON_CUDA_CPU_CC=$source/quick_cc BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache
    mkdir -p "$BATON_CACHE_DIR"
}

same_bytes() { # WORKLOADS
    local way all=("$workloads" --size small "$@")
    quick_kernels
    plain "${all[@]}" >"$scratch/plain" 2>&1
    echo "status $?" >>"$scratch/plain"
    [ "$(grep -c ' OK ' "$scratch/plain")" -eq "$("$workloads" --list | wc -l)" ] || [ "$*" != all ]
    verdict $? "all workloads, without Baton"
    for way in idle queued slices auto chunks; do
        same "workloads, $way" under "$way" "${all[@]}"
    done
    [ "$(number pieces)" -gt 0 ] && [ "$(number chunks)" -gt 0 ]
    verdict $? "they ran in pieces and chunks: $(head -c 200 "$scratch/stats")"
    start_hog
    same "workloads beside a hog" baton "${all[@]}"
    same "workloads beside a hog, in pieces" under slices "${all[@]}"
    stop_hog
    start_plan
    same "workloads as a task of a plan" "$build/baton" run --device cpu --task programs "${all[@]}"
}

# Programs that nvcc has compiled, with the runtime library of the CPU device.
nvcc_programs() { # NAMES
    local name way nvcc program
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || { echo "skipped: no nvcc" && exit 77; }
    [ "${BATON_SANITIZER:-none}" = none ] || { echo "skipped: no sanitizer in nvcc's programs" && exit 77; }
    for name in "$@"; do
        program=$("$source/../cuda_runtime/nvcc_kept" "$nvcc" "$name" -std=c++17 --extended-lambda \
            -arch=sm_80 -cudart shared "$source/../cuda_runtime/programs/$name.cu" 2>"$scratch/out")
        verdict $? "$name: nvcc: $(tail -n 1 "$scratch/out")"
        plain "$program" >"$scratch/plain" 2>&1
        echo "status $?" >>"$scratch/plain"
        grep -q 'status 0' "$scratch/plain"
        verdict $? "$name, plain: $(tail -n 2 "$scratch/plain")"
        for way in idle queued slices chunks; do
            same "$name, $way" under $way "$program"
        done
        [ "$(number kernel_launches)" -gt 0 ]
        verdict $? "$name: its launches are seen: $(head -c 200 "$scratch/stats")"
        under slices "$program" >"$scratch/out" 2>&1
        [ "$(number pieces)" -gt 0 ]
        verdict $? "$name: its kernels run in pieces: $(head -c 200 "$scratch/stats")"
    done
}

# The calls that fail: those that the front makes itself, and those of programs.
failing_calls() {
    sed -n 's/.* F(\(cu[A-Za-z0-9_]*\)).*/\1/p' "$source/../../src/cuda/genuine.h"
    printf '%s\n' cuInit cuCtxCreate_v2 cuModuleLoad cuMemAlloc_v2 cuMemsetD32Async cuCtxDestroy_v2
}

# Each call fails once: the first time, or the third. The program is told, at once or by a later
# call, or its results are right. A rewritten module is loaded from memory, so a failure of
# cuModuleLoad is not met. A launch whose first piece is refused is tried whole.
workloads_that_fail() { # WORKLOADS of one program
    local name n way met wrong=() all=("$workloads" --size small "$@")
    plain "${all[@]}" >"$scratch/right" 2>&1
    verdict $? "$*: without failures"
    for name in $(failing_calls); do
        for n in 1 3; do
            [ $n -eq 1 ] && way=idle || way=chunks
            export BATON_CUDA_CPU_FAIL=$name:$n:999
            plain "${all[@]}" >"$scratch/out" 2>&1
            met=$?
            under $way timeout -s KILL $hangs "${all[@]}" >"$scratch/out" 2>&1
            case $?,$met,$name in
            0,0,* | 0,3,cuModuleLoad | 0,3,cuLaunchKernel)
                cmp -s "$scratch/right" "$scratch/out" || wrong+=("$name $n: wrong results") ;;
            3,*) ;;
            *) wrong+=("$name $n: $(tail -n 1 "$scratch/out")") ;;
            esac
        done
    done
    unset BATON_CUDA_CPU_FAIL
    [ ${#wrong[@]} -eq 0 ]
    verdict $? "$*: each call fails once: ${wrong[*]}"
}

# Two workloads, and one that is another every day; or all of them.
failures() { # [all]
    local names each
    mapfile -t names < <(plain "$workloads" --list | sed 's/ .*//')
    quick_kernels
    if [ "${1:-}" = all ]; then
        for each in "${names[@]}"; do workloads_that_fail "$each"; done
    else
        workloads_that_fail mmul bfs
        workloads_that_fail "${names[10#$(date +%j) % ${#names[@]}]}"
    fi
}

# batond knows no client any more, and grants the engine to the next one.
nothing_left() { # WHAT
    await "$daemon" has_clients 0
    verdict $? "$1: leaves nothing behind: $(daemon_status | head -c 200)"
    baton --require-daemon -- "$corners" "$kernels" work
    verdict $? "$1: the next program works"
}

# The same end in every way as without Baton.
one_corner() { # EXPECTED_STATUS NAME
    local way status
    plain "$corners" "$kernels" "$2" >"$scratch/out" 2>&1
    status=$?
    [ "$status" -eq "$1" ]
    verdict $? "$2, plain: $status: $(tail -n 1 "$scratch/out")"
    for way in idle queued slices no-daemon; do
        under $way "$corners" "$kernels" "$2" >"$scratch/out" 2>&1
        status=$?
        [ "$status" -eq "$1" ]
        verdict $? "$2, $way: $status: $(tail -n 1 "$scratch/out")"
    done
    nothing_left "$2"
}

# Also beside a program that has the engine, so that work is held back.
contended_corners() { # EXPECTED_STATUS NAME ...
    start_hog
    while [ $# -gt 1 ]; do
        baton -- "$corners" "$kernels" "$2" >"$scratch/out" 2>&1
        [ $? -eq "$1" ]
        verdict $? "$2 beside a hog: $(tail -n 1 "$scratch/out")"
        shift 2
    done
    stop_hog
    nothing_left "contended"
}

# Every process of this test knows the scratch folder.
left=
is_alone() {
    local at
    left=
    for at in /proc/[0-9]*; do
        [ "${at#/proc/}" -ne $$ ] && [ "${at#/proc/}" -ne "${daemon:-0}" ] &&
            tr '\0' '\n' 2>/dev/null <"$at/environ" |
            grep -q "^BATON_SOCKET=$scratch/socket" &&
            left="$left ${at#/proc/}: $(tr '\0' ' ' <"$at/cmdline")"
    done 2>/dev/null
    [ -z "$left" ]
}
no_process_left() {
    await none is_alone
    verdict $? "no process is left behind:$left"
}

# The dynamic loader takes a space for the end of a path.
from_a_folder_with_a_space() {
    mkdir -p "$scratch/a folder/cuda-cpu"
    cp "$build"/baton "$build"/baton-cut "$build"/libbaton-{cuda,layer}.so "$scratch/a folder"
    cp "$device"/libcuda.so.1 "$device"/libcudart.so.13 "$scratch/a folder/cuda-cpu"
    "$scratch/a folder/baton" run --device cpu --require-daemon --slice 1 --stats "$scratch/stats" -- \
        "$corners" "$kernels" work >"$scratch/out" 2>&1
    verdict $? "Baton in a folder with a space: $(tail -n 1 "$scratch/out")"
    [ "$(number pieces)" -gt "$(number kernel_launches)" ]
    verdict $? "kernels run in pieces there: $(head -c 200 "$scratch/stats")"
}

all_corners() {
    local victim each
    local ends=(7 exit 0 fork 0 reset 0 garbage 0 graph 0 quit 0 busy 0 joined 3 at-once 137 killed 0 exec 0 \
        spawned 0 destroyed 0 many)
    for each in "${!ends[@]}"; do
        [ $((each % 2)) -eq 1 ] || one_corner "${ends[each]}" "${ends[each + 1]}"
    done 2>/dev/null
    contended_corners "${ends[@]}" 2>/dev/null
    one_corner 0 files
    under slices "$corners" "$kernels" files
    # Four launches of 16 blocks, one block each.
    [ "$(number pieces)" -eq $((4 * 16)) ]
    verdict $? "kernels of files and links run in pieces: $(head -c 200 "$scratch/stats")"
    one_corner 0 rows
    under chunks "$corners" "$kernels" rows >"$scratch/out" 2>&1
    verdict $? "rows in chunks: $(tail -n 1 "$scratch/out")"
    # Chunks of 4,096 bytes have 6 rows of 600. 31 rows are 6 chunks, 62 in two planes are 11; four
    # copies of each there and back. The 76,800 bytes that 8 cases check are 19 chunks each.
    [ "$(number chunks)" -eq $((4 * 2 * (6 + 11) + 8 * 19)) ]
    verdict $? "rows are copied in chunks: $(number chunks)"
    # A name that the table does not know.
    env BATON_CUDA_LIBRARY="$build/tests/cuda_front/libnewer-driver.so" LD_LIBRARY_PATH="$device" \
        "$build/baton" run --stats "$scratch/stats" -- "$corners" "$kernels" unknown
    verdict $? "a call that the table does not know"
    grep -q 'unknown-call' "$scratch/stats" && grep -q cuBrandNew "$scratch/stats"
    verdict $? "is shown in the statistics"
    grep -q '"reason": "unknown-call", "launches": 3,' "$scratch/stats"
    verdict $? "with the number of its calls: $(grep -o '"reason": "unknown-call"[^}]*' "$scratch/stats")"
    # A program that is killed while it has the engine.
    start_hog
    victim=$hog
    baton -- "$corners" "$kernels" work
    verdict $? "a program beside a hog"
    kill -KILL "$victim"
    wait "$victim" 2>/dev/null
    nothing_left "killed"
    # A daemon that restarts while a program runs.
    start_hog
    baton -- "$random" "$kernels" 9000 200 >"$scratch/out" 2>&1 &
    victim=$!
    wait_for_client 2 $victim
    stop_daemon KILL
    start_daemon
    wait "$victim"
    verdict $? "a daemon restarts under a program: $(tail -n 1 "$scratch/out")"
    stop_hog
    from_a_folder_with_a_space
    # No driver at all.
    if ! ldconfig -p | grep -q libcuda.so.1; then
        ! "$build/baton" run -- "$conformance" "$kernels" >"$scratch/out" 2>&1 &&
            grep -q 'no CUDA driver' "$scratch/out" && [ "$(wc -l <"$scratch/out")" -eq 1 ]
        verdict $? "a program that needs CUDA, and no driver: $(tail -n 1 "$scratch/out")"
    fi
    baton -- sh -c 'exit 5'
    [ $? -eq 5 ]
    verdict $? "a program that never uses CUDA"
    baton --gpus 2 -- "$corners" "$kernels" work 2>"$scratch/out"
    [ "$(grep -c 'not split over several' "$scratch/out")" -eq 1 ]
    verdict $? "--gpus 2 is answered with one sentence"
    no_process_left
}

# Calls that must not wait for what is held back: a program that hangs is ended.
held_events() {
    local name way all=(record again gone contexts wait green beside shared shared-context shared-behind)
    for name in "${all[@]}"; do
        plain timeout -s KILL $hangs "$held" "$name" >"$scratch/out" 2>&1
        verdict $? "$name, plain: $(tail -n 1 "$scratch/out")"
        for way in idle queued queued-slices no-daemon; do
            under $way timeout -s KILL $hangs "$held" "$name" >"$scratch/out" 2>&1
            verdict $? "$name, $way: $(tail -n 1 "$scratch/out")"
        done
    done
    start_hog
    for name in "${all[@]}"; do
        baton -- timeout -s KILL $hangs "$held" "$name" >"$scratch/out" 2>&1
        verdict $? "$name beside a hog: $(tail -n 1 "$scratch/out")"
    done
    stop_hog
    nothing_left "events"
}

# Threads whose streams are ordered among each other: a program that hangs is ended. Two threads
# meet most easily where everything is queued: there are 2,000 fresh events, elsewhere in soak only.
threads_in_order() {
    local name way fewer=(fresh 200)
    [ -z "${BATON_SOAK:-}" ] || fewer=(fresh)
    for name in legacy event crossed ended "${fewer[*]}"; do
        # shellcheck disable=SC2086 # words
        plain timeout -s KILL $hangs "$threads" $name >"$scratch/out" 2>&1
        verdict $? "$name, plain: $(tail -n 1 "$scratch/out")"
        for way in idle no-daemon queued; do
            [ $way != queued ] || name=${name% *}
            # shellcheck disable=SC2086
            under $way timeout -s KILL $hangs "$threads" $name >"$scratch/out" 2>&1
            verdict $? "$name, $way: $(tail -n 1 "$scratch/out")"
        done
    done
    start_hog
    for name in legacy event crossed ended "${fewer[*]}"; do
        # shellcheck disable=SC2086
        baton -- timeout -s KILL $hangs "$threads" $name >"$scratch/out" 2>&1
        verdict $? "$name beside a hog: $(tail -n 1 "$scratch/out")"
    done
    stop_hog
    nothing_left "threads"
}

start_daemon
case ${1:-} in
answers) answers ;;
random) random_programs "${2:-500}" && as_a_task 200 ;;
workloads) shift && same_bytes "$@" ;;
failures) failures "${2:-}" ;;
nvcc) shift && nvcc_programs "$@" ;;
corners) all_corners ;;
events) held_events ;;
threads) threads_in_order ;;
*) echo "usage: front.sh answers|random|workloads|failures|nvcc|corners|events|threads" >&2 && exit 2 ;;
esac
report
