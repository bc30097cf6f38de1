#!/usr/bin/env bash
# Readable names of C++ kernels wherever Baton shows a kernel; scripts find the program's own name
# beside them. usage: names.sh. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
program=$build/tests/cuda_front/mangled
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
source=$(cd "$(dirname "$0")" && pwd)
export BATON_CUDA_CPU_CC=$source/quick_cc BATON_CUDA_CPU_ENGINES=$scratch/engines
[ "${BATON_SANITIZER:-none}" = none ] || export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

shows() { # FILE TEXT WHAT
    grep -qF -- "$2" "$1"
    verdict $? "$3: no '$2' in $(head -c 1500 "$1")"
}
hides() { # FILE WHAT: no mangled name for people
    ! grep -q '_ZN3app' "$1"
    verdict $? "$2: a mangled name in $(head -c 1500 "$1")"
}

start_daemon
mkfifo "$scratch/input"
"$build/baton" run --device cpu --priority 50 --name app --slice 1 --stats "$scratch/stats" -- "$program" \
    <"$scratch/input" >"$scratch/out" 2>&1 &
running=$!
exec 7>"$scratch/input"
await $running grep -q ready "$scratch/out"
verdict $? "the program runs: $(head -c 300 "$scratch/out")"

"$build/baton" status >"$scratch/status" 2>&1
shows "$scratch/status" "kernel app::wait" "status"
hides "$scratch/status" "status"
"$build/baton" status --json >"$scratch/status.json"
shows "$scratch/status.json" '"app::wait"' "status --json"
shows "$scratch/status.json" '"_ZN3app4waitEPVi"' "status --json, for scripts"

"$build/baton" trace -o "$scratch/trace.json" >"$scratch/trace.out" 2>&1
shows "$scratch/trace.json" '"name":"app: app::scale<float, 4>"' "trace"
shows "$scratch/trace.json" '"kernel":"app::scale<float, 4>","symbol":"_ZN3app5scaleIfLi4EEEvPT_"' "trace"
shows "$scratch/trace.json" '"kernel":"app::wait","symbol":"_ZN3app4waitEPVi"' "trace"
"$build/baton" report "$scratch/trace.json" -o "$scratch/report.html" >"$scratch/report.out" 2>&1
verdict $? "a report of the trace: $(head -c 300 "$scratch/report.out")"
shows "$scratch/report.html" 'app::scale&lt;float, 4&gt;' "report"
hides "$scratch/report.html" "report"

exec 7>&-
wait $running
verdict $? "the program ends: $(tail -n 1 "$scratch/out")"
shows "$scratch/stats" '"kernel": "app::wait", "symbol": "_ZN3app4waitEPVi"' "statistics"
shows "$scratch/daemon.log" "kernel app::wait runs whole" "the daemon's log"
hides "$scratch/daemon.log" "the daemon's log"

"$build/baton" run --device cpu --table -- "$program" </dev/null >"$scratch/out" 2>"$scratch/table"
verdict $? "a table of kernels: $(tail -n 1 "$scratch/table")"
shows "$scratch/table" "app::scale<float, 4>" "the table of kernels"
hides "$scratch/table" "the table of kernels"
report
