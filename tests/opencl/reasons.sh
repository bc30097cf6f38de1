#!/usr/bin/env bash
# Why a kernel is not cut is said by its name, in words, with what helps: in --stats, `baton
# status`, traces and the daemon's log. On the fake driver, whose kernel `scale` does the same
# whatever its text says. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC2119
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
start_clock # a launch is long or short by the driver's script alone
start_daemon

true_of() { # FILE PYTHON: of the JSON o
    python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
sys.exit(not eval("(%s)" % sys.argv[2]))' "$1" "$2" 2>"$scratch/errors"
}

holds() { # SENTENCE FILE PYTHON
    true_of "$2" "$3"
    verdict $? "$1: $(cat "$2") $(tail -n 1 "$scratch/errors")"
}

run() { # TEXT GLOBAL LOCAL VARIABLE=VALUE...
    printf '%s\n' "$1" >"$scratch/text.cl"
    local global=$2 local_size=$3
    shift 3
    rm -f "$scratch/stats"
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_STATS=$scratch/stats BATON_NAME=reasoner env "$@" \
        timeout 900 "${on_clock[@]}" "$build/tests/opencl/layer-reasons" "$scratch/text.cl" "$global" \
        "$local_size" >"$scratch/out" 2>&1
    verdict $? "the program computes right: $(cat "$scratch/out")"
}

said() { # REASON DETAIL: of the kernel scale, three launches
    holds "reason $1" "$scratch/stats" \
        "o['unsliced'].get('$1', 0) >= 1
         and [n for n in o['notices'] if n['kernel'] == 'scale' and n['reason'] == '$1'
              and '$2' in n['detail'] and n['launches'] == o['unsliced']['$1']
              and len(n['why']) > 10 and len(n['advice']) > 10] != []"
    grep -q "reasoner: kernel scale runs whole: .*; " "$scratch/daemon.log"
    verdict $? "reason $1: the daemon's log names kernel and remedy"
}

head='kernel void scale(global int *a, int factor) { size_t i = get_global_id(0);'
run "$head if (i > 9000) goto end; a[i] = a[i] * factor + 1; end: ; }" 1024 4
holds "a forward goto is cut" "$scratch/stats" "o['pieces'] > 1 and o['notices'] == []"
run "kernel void half2(global int *a) { a[0] = 1; } $head a[i] = a[i] * factor + 1; }" 1024 4
holds "a kernel named half2 keeps nothing whole" "$scratch/stats" "o['pieces'] > 1 and o['notices'] == []"
run "$head while (atomic_or(a, 0) == 77) ; a[i] = a[i] * factor + 1; }" 1024 4
said waits-for-groups ""
run "void f(int n) { if (n) f(n - 1); } $head f(0); a[i] = a[i] * factor + 1; }" 1024 4
said construct "calls itself"
run "$head lacking(); a[i] = a[i] * factor + 1; }" 1024 4
said rewrite-failed "lacking"
run "$head a[i] = a[i] * factor + (int)get_local_id(0) * 0 + 1; }" 1024 0
said shape "no local size"
run "$head a[i] = a[i] * factor + 1; }" 1024 4 FAKE_CL="fail BuildProgram 2 -11"
said driver-refused ""
run "$head a[i] = a[i] * factor + 1; }" 4 4 FAKE_CL="group_ns scale 60000000"
said few-groups ""
run "$head a[i] = a[i] * factor + 1; }" 4 4
true_of "$scratch/stats" "set(o['unsliced']) == {'small'} and o['notices'] == []"
by_clock $? "a short launch of one group is small, and nothing is said of it: $(cat "$scratch/stats")"
run "$head a[i] = a[i] * factor + 1; }" 1024 4 BATON_GPUS=3
holds "more GPUs than there are" \
    "$scratch/stats" \
    "[n['detail'] for n in o['notices'] if n['reason'] == 'fewer-gpus' and n['kernel'] is None] ==
        ['3 asked for, 2 there']"
run "$head a[i] = a[i] * factor + 1; }" 1024 4 BATON_GPUS=2
holds "as many GPUs as there are" "$scratch/stats" \
    "not [n for n in o['notices'] if n['reason'] == 'fewer-gpus']"

# From here on programs live by the machine's clock: one must still run while it is asked about.
on_clock=()
start_daemon

# A binary of unknown source.
mkdir -p "$scratch/kept"
"$build/tests/opencl/layer-binaries" "$scratch/kept" naive >/dev/null
OPENCL_LAYERS=$build/libbaton-layer.so BATON_STATS=$scratch/stats BATON_NAME=reasoner \
    "$build/tests/opencl/layer-binaries" "$scratch/kept" naive >/dev/null
said binary "a binary"
[ "$(grep -c 'reasoner: kernel scale runs whole: its program was not made from source' \
    "$scratch/daemon.log")" -eq 1 ]
verdict $? "a binary is said once"

# While it runs: status as text and as JSON, and the trace.
printf '%s\n' "$head while (atomic_or(a, 0) == 77) ; a[i] = a[i] * factor + 1; }" >"$scratch/text.cl"
OPENCL_LAYERS=$build/libbaton-layer.so BATON_NAME=reasoner FAKE_CL="group_ns scale 200000000" \
    "$build/tests/opencl/layer-load" 600 1 0 >/dev/null 2>&1 &
program=$!
advised() {
    daemon_status >"$scratch/status.json"
    grep -q few-groups "$scratch/status.json" && grep -q '"advice"' "$scratch/status.json"
}
await $program advised
verdict $? "a program that runs is advised: $(cat "$scratch/status.json")"
"$build/baton" status >"$scratch/status.txt"
"$build/baton" trace -o "$scratch/trace.json" >/dev/null
kill $program 2>/dev/null
wait $program 2>/dev/null
holds "status --json" \
    "$scratch/status.json" \
    "[n for c in o['clients'] for n in c['notices'] if n['kernel'] == 'scale'
        and n['reason'] == 'few-groups' and n['advice']] != []"
grep -q 'ran whole.*it is long, but has no more work-groups than the device runs at once' \
    "$scratch/status.txt" && grep -q 'kernel scale' "$scratch/status.txt" &&
    grep -q 'what helps: use more' "$scratch/status.txt"
verdict $? "status: $(cat "$scratch/status.txt")"
holds "trace" \
    "$scratch/trace.json" \
    "[e for e in o['traceEvents'] if e.get('cat') == 'notice'
        and 'kernel scale runs whole' in json.dumps(e)] != []"
report
