#!/usr/bin/env bash
# CUDA programs under `profile: gpusync` with several GPUs in a cluster, on the CPU device. Their
# jobs run on the GPU of their token, and their memory follows, byte for byte. usage: migrate.sh
# state|same|failures|claims. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
device=$build/cuda-cpu
kernels=$source/kernels.ptx
all_kernels=$source/../cuda_conformance/kernels.ptx
state=$build/tests/cuda_migrate/cuda-state
conformance=$build/tests/cuda_conformance/cuda-conformance
task=$build/tests/cuda_migrate/cuda-task
workloads=$build/tests/workloads/workloads-cuda
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
# Compiled kernels stay for the next run: the compiler is most of the time.
export BATON_CUDA_CPU_CC=$source/../cuda_front/quick_cc BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache
export BATON_CUDA_CPU_ENGINES=$scratch/engines BATON_CUDA_CPU_DEVICES=2
export OCL_ICD_VENDORS=$scratch/none # the GPUs of the cluster are the CUDA ones
mkdir -p "$BATON_CACHE_DIR"
[ "${BATON_SANITIZER:-none}" = none ] || export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
wanted=${BATON_SOAK:+10000}
wanted=${wanted:-400}

cluster() { # GPUS MIGRATION
    export BATON_CUDA_CPU_DEVICES=$1
    cat >"$scratch/config" <<CONFIG
profile: gpusync
gpu_cluster: $1
devices: $1
tokens_per_gpu: 1
migration: $2
CONFIG
    start_daemon --config "$scratch/config"
}
plain() { env LD_LIBRARY_PATH="$device" "$@"; }
follow() { # NAME PROGRAM ...: its statistics are in $scratch/stats.NAME
    local name=$1
    shift
    "$build/baton" run --require-daemon --device cpu --name "$name" --stats "$scratch/stats.$name" -- "$@"
}
moved_by() { number moved_bytes "$scratch/stats.$1"; }

round() { # GPUS MIGRATION SEED: one program more than GPUs; all but the first roam
    local programs=() failures=0 form=module roams=()
    cluster "$1" "$2"
    [ $(($3 % 2)) -eq 1 ] || form=library
    for i in $(seq $(($1 + 1))); do
        [ "$i" -eq 1 ] || roams=(env BATON_TEST_ROAM=1)
        follow "$i" "${roams[@]}" "$state" "$kernels" 200 $(($3 * 10 + i)) $form >"$scratch/out$i" 2>&1 &
        programs+=($!)
    done
    for i in $(seq $(($1 + 1))); do
        wait "${programs[$((i - 1))]}" || failures=$((failures + 1))
        grep -q stays-home "$scratch/stats.$i" && failures=$((failures + 1))
    done
    verdict "$failures" "$1 GPUs, $2, seed $3: every byte is as computed ($(cat "$scratch"/out? | tail -n 4 |
        tr '\n' ' '))"
}

# A move takes the program's memory along: three buffers of 16 KiB and one of 1,200,000 bytes.
one_move=$((3 * 16384 + 1200000))
state() {
    local moved=0 gpus=2 seed migration i
    for seed in $(seq 100); do
        for migration in ondemand p2p system; do
            round "$gpus" "$migration" "$seed"
            for i in $(seq $((gpus + 1))); do
                moved=$((moved + $(moved_by "$i") / one_move))
            done
        done
        gpus=$((gpus % 4 + 1))
        [ "$gpus" -ne 1 ] || gpus=2
        if [ "$moved" -ge "$wanted" ] || [ "$failed" -gt 0 ]; then break; fi
    done
    [ "$moved" -ge "$wanted" ]
    verdict $? "memory followed its job at least $wanted times ($moved)"
    echo "memory followed its job $moved times"
}

# Answers and workloads, each job on a random GPU. A program follows until its context ends: one
# process for each workload, and each of the three ways for a third of them.
told() { grep -v '^failures: each\|answers, \|passed, ' "$1"; }
same() {
    local migration name n wrong=() names moved=0 stayed=0 ways=(ondemand p2p system)
    mapfile -t names < <("$workloads" --list | awk '{print $1}')
    plain "$workloads" --size small all >"$scratch/plain" 2>&1
    plain "$conformance" "$all_kernels" >"$scratch/answers" 2>/dev/null
    export BATON_TEST_ROAM=3 # the first job is away
    for migration in "${ways[@]}"; do
        cluster 2 "$migration"
        n=0
        for name in "${names[@]}"; do
            [ "${ways[$((n++ % 3))]}" = "$migration" ] || continue
            follow work "$workloads" --size small "$name" >"$scratch/out" 2>&1
            grep -qxFf "$scratch/out" "$scratch/plain" && grep -q "^$name OK" "$scratch/out" ||
                wrong+=("$name: $(tail -n 1 "$scratch/out")")
            [ "$(moved_by work)" -eq 0 ] || moved=$((moved + 1))
            ! grep -q stays-home "$scratch/stats.work" || stayed=$((stayed + 1))
        done
        follow answers "$conformance" "$all_kernels" >"$scratch/out" 2>/dev/null
        diff <(told "$scratch/answers") <(told "$scratch/out") >"$scratch/diff"
        verdict $? "$migration: answers: $(head -c 600 "$scratch/diff")"
    done
    [ ${#wrong[@]} -eq 0 ]
    verdict $? "workloads: ${wrong[*]}"
    [ "$moved" -gt 5 ]
    verdict $? "they went to other GPUs: $moved of ${#names[@]}, $stayed stayed"
    echo "$moved of ${#names[@]} workloads went to other GPUs, $stayed stayed"
}

# Each call that a move makes fails: the first time, the second, a later one. The program goes on
# with all its bytes, or is told by the call that failed.
failures() {
    export BATON_TEST_ROAM=1
    local name n status wrong=() met=0
    cluster 2 p2p
    for name in cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess cuMemUnmap cuMemRelease \
        cuMemAddressFree cuMemGetAllocationGranularity cuMemcpyPeerAsync cuMemcpyDtoHAsync_v2 \
        cuMemcpyHtoDAsync_v2 cuCtxCreate_v2 cuStreamCreate cuStreamSynchronize cuModuleLoadData \
        cuModuleGetFunction cuFuncGetName cuFuncGetAttribute cuDeviceCanAccessPeer cuCtxSynchronize \
        cuCtxPushCurrent_v2 cuDeviceGetCount cuEventRecord cuEventCreate; do
        for n in 1 2 3 9; do
            BATON_CUDA_CPU_FAIL=$name:$n:999 follow failing timeout -s KILL $hangs "$state" "$kernels" 60 \
                "$n" >"$scratch/out" 2>&1
            status=$?
            [ "$status" -ne 0 ] || ! grep -q 'a move' "$scratch/stats.failing" || met=$((met + 1))
            case $status in
            0) ;;
            3) grep -q ': 999$' "$scratch/out" || wrong+=("$name $n: $(tail -n 1 "$scratch/out")") ;;
            *) wrong+=("$name $n: $status: $(tail -n 1 "$scratch/out")") ;;
            esac
        done
    done
    [ ${#wrong[@]} -eq 0 ]
    verdict $? "each call fails once: ${wrong[*]}"
    [ "$met" -gt 0 ]
    verdict $? "moves failed, and the programs went on at home ($met)"
}

# Two tasks whose bounds rest on the lock's choice among two GPUs. Kernels, copies and periods are
# so long that no load makes a request longer than its plan (rule `requests`).
plan_tasks() {
    cat >"$scratch/tasks.yaml" <<'END'
platform: {cpus: 2, gpus: 2, gpu_cluster: 2, tokens_per_gpu: 1, migration: p2p,
           chunk_in: 1 MiB, chunk_out: 1 MiB, overheads: overheads.yaml}
tasks:
  - {name: one, period_ms: 1000000, state: 4096, segments: [{cpu_ms: 10}, {kernel_ms: 60000}, {cpu_ms: 1}]}
  - {name: two, period_ms: 1000000, state: 4096, segments: [{cpu_ms: 10}, {kernel_ms: 60000}, {cpu_ms: 1}]}
END
    echo 'copies: [{direction: in, bytes: 4096, us: 60000000}, {direction: out, bytes: 4096, us: 60000000},
        {direction: p2p, bytes: 4096, us: 60000000}]' >"$scratch/overheads.yaml"
    "$build/baton" plan "$scratch/tasks.yaml" --analysis gpusync --policy single -o "$scratch/plan.yaml" \
        >"$scratch/out" 2>&1
    verdict $? "a plan: $(tail -n 2 "$scratch/out")"
    cat >"$scratch/config" <<CONFIG
profile: gpusync
policy: fair-lateness
lock: $(sed -n 's/^lock: "\(.*\)"/\1/p' "$scratch/plan.yaml")
gpu_cluster: 2
cpu_cluster: 2
devices: 2
tokens_per_gpu: 1
migration: p2p
overrun: off
overheads: $scratch/overheads.yaml
plan: $scratch/plan.yaml
CONFIG
}

# Have both programs ended jobs, and have all tasks, or none for this rule, their bounds claimed?
# Bounds can be claimed before both programs are there.
claimed() { # all|none [RULE]
    daemon_status >"$scratch/status"
    case $1,$(grep -c '"bound_claimed": true' "$scratch/status"),$(
        grep -c '"bound_claimed": false' "$scratch/status") in
    all,2,0)
        [ "$(grep -c '"processes": 1' "$scratch/status")" -eq 2 ] &&
            ! grep -q '"jobs": 0,' "$scratch/status" ;;
    none,0,2) grep -q "${2:-}" "$scratch/status" ;;
    *) false ;;
    esac
}

ruled() { # RULE: is it the one that keeps bounds from being claimed?
    daemon_status >"$scratch/status"
    grep -q "\"model_rule\": \"$1\"" "$scratch/status"
}

claims() {
    local programs=() status
    if ! lift_rt_limit; then
        echo "left out: with Linux's limit on real-time programs no such bound is claimed"
        return
    fi
    plan_tasks
    cp "$scratch/config" "$scratch/cores"
    echo 'gpus: [{name: "pci:ba70:b0:00.0"}, {name: "pci:ba70:b1:00.0"}]' >>"$scratch/cores"
    start_daemon --config "$scratch/cores"
    touch "$scratch/go"
    "$build/baton" run --require-daemon --device cpu --task one --period 2000 -- "$task" "$kernels" 20000 \
        "$scratch/go" "$scratch/spoil.none" >"$scratch/out.core" 2>&1 &
    programs+=($!)
    await "${programs[0]}" ruled partition
    verdict $? "a device that is a core needs a partition: $(grep -o '"model[^,]*' "$scratch/status")"
    rm -f "$scratch/go"
    wait "${programs[0]}"
    verdict $? "without a claim the state is as computed, too: $(cat "$scratch/out.core")"
    programs=()
    export BATON_CUDA_CPU_TIMES=block:1000 # no core computes: the device is a GPU for batond
    start_daemon --config "$scratch/config"
    daemon_status >"$scratch/status"
    verdict $? "batond answers"
    if grep -q '"realtime": false' "$scratch/status"; then
        echo "left out: no permission for real-time scheduling, so no bound is claimed"
        return
    fi
    touch "$scratch/go"
    for name in one two; do
        "$build/baton" run --require-daemon --device cpu --task $name --period 1000000 --stats \
            "$scratch/stats.$name" -- "$task" "$kernels" 20000 "$scratch/go" "$scratch/spoil.$name" \
            >"$scratch/out.$name" 2>&1 &
        programs+=($!)
    done
    await "${programs[0]}" claimed all
    verdict $? "bounds are claimed for programs that follow: $(grep -o '"model[^,]*' "$scratch/status")"
    touch "$scratch/spoil.two"
    await "${programs[1]}" claimed none placement
    verdict $? "no bound is claimed beside one that stays: $(grep -o '"model[^,]*' "$scratch/status")"
    rm -f "$scratch/go"
    for i in 0 1; do
        wait "${programs[i]}"
        status=$?
        verdict $status "its state is as computed: $status: $(cat "$scratch"/out.*)"
    done
    ! grep -q stays-home "$scratch/stats.one" && grep -q cuMemAllocManaged "$scratch/stats.two"
    verdict $? "the reason is in the statistics"
}

case ${1:-} in
state) state ;;
claims) claims ;;
same) same ;;
failures) failures ;;
*) echo "usage: migrate.sh state|same|failures|claims" >&2 && exit 2 ;;
esac
report
