# For the tests of tasks (test_tasks, test_task_models): batond with a task set and with the real
# planner or a bad one, and programs that are its tasks. Sourced.
# shellcheck shell=bash
set -uo pipefail
baton=$BATON_BUILD/baton
scratch=$(mktemp -d) || exit 1
export XDG_RUNTIME_DIR=$scratch XDG_CONFIG_HOME=$scratch/config BATON_SOCKET=$scratch/s
export BATON_LAYER=$BATON_BUILD/libbaton-layer.so
unset BATON_PRIORITY BATON_TASK BATON_NAME OPENCL_LAYERS
# shellcheck source=tests/patience.sh
. "$BATON_SOURCE/tests/patience.sh"
passed=0
failed=0
daemon=
out=
# Linux's limit on real-time programs keeps claims away for a period after every change. Other tests
# are about that: here there is no limit, except under a sanitizer, before which no library may go.
machine=()
if [ "${BATON_SANITIZER:-none}" = none ]; then
    ln -s "$BATON_BUILD/tests/daemon/libstand-in.so" "$scratch/stand-in.so" # LD_PRELOAD ends paths at spaces
    machine=(env "LD_PRELOAD=$scratch/stand-in.so" BATON_TEST_RT_RUNTIME=-1 BATON_TEST_ALONE=1)
fi
unlimited() { [ ${#machine[@]} -gt 0 ] || [ "$(cat /proc/sys/kernel/sched_rt_runtime_us)" = -1 ]; }
# Writes the configuration from standard input and starts batond. Its planner, which runs at a low
# priority, has all the time that it needs, unless the configuration says otherwise.
start() { # [OPTION...]
    cat >"$scratch/c.yaml"
    grep -q '^planner_ms:' "$scratch/c.yaml" || echo 'planner_ms: 600000' >>"$scratch/c.yaml"
    "${machine[@]}" "$BATON_BUILD/batond" --foreground --config "$scratch/c.yaml" "$@" 2>"$scratch/log" &
    daemon=$!
    export BATON_REQUIRE_DAEMON=1 # no program runs unscheduled because the machine is busy
    await "$daemon" answers || verify "batond answers" false
}
answers() { "$baton" status >/dev/null 2>&1; }
stop() {
    [ -n "$daemon" ] && kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null
    daemon=
    unset BATON_REQUIRE_DAEMON
}
finish() {
    stop
    for job in $(jobs -p); do kill "$job" 2>/dev/null; done
    rm -rf "$scratch"
}
trap finish EXIT
expect() { # NAME STATUS COMMAND...: runs it, compares the exit status; output in $out
    local name=$1 status=$2 got=0
    shift 2
    out=$("$@" 2>"$scratch/err") || got=$?
    verify "$name: exit $status" [ "$got" = "$status" ]
}
verify() { # NAME TEST...
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        echo "  stdout: ${out:0:3000}"
        echo "  stderr: $(tail -3 "$scratch/err" 2>/dev/null | cut -c 1-500)"
        echo "  log: $(tail -5 "$scratch/log" 2>/dev/null)"
    fi
}
has() { [[ $out == *"$1"* ]]; }
says() { grep -qF -- "$1" "$scratch/err"; }
logged() { grep -qF -- "$1" "$scratch/log"; }
json() {
    python3 -c "import json, sys
o = json.loads(sys.argv[1])
t, c = {x['name']: x for x in o['tasks']}, {x['name']: x for x in o['clients']}
assert ($1), o" "$out" 2>>"$scratch/err"
}
# Waits until the condition over the status holds, at most five minutes: only what never comes takes
# so long. One status is several answers of batond: parts that must agree stand in one condition, or
# are waited for again.
status() {
    local end=$((SECONDS + 300))
    while [ $SECONDS -lt $end ]; do
        out=$("$baton" status --json 2>"$scratch/err")
        json "$1" 2>/dev/null && return 0
        sleep 0.05
    done
    return 1
}
# does jobs that take so many ms each, then stays until its input ends
program=$BATON_BUILD/tests/daemon/job-program
fds=
program() { # TASK MS...: in the background, until `quit TASK`
    local task=$1
    shift
    mkfifo "$scratch/in.$task"
    (
        for fd in $fds; do exec {fd}>&-; done # else no program's input would ever end
        exec "$baton" run --task "$task" -- "$program" "$@"
    ) <"$scratch/in.$task" >/dev/null 2>"$scratch/err.$task" &
    eval "pid_$task=$!"
    exec {fd}>"$scratch/in.$task"
    eval "hold_$task=$fd"
    fds="$fds $fd"
}
quit() {
    local name=hold_$1 pid=pid_$1
    local fd=${!name}
    exec {fd}>&-
    wait "${!pid}"
    rm -f "$scratch/in.$1"
}

cat >"$scratch/tasks.yaml" <<YAML
platform: {cpus: $(nproc), gpus: 1}
tasks:
  - {name: a, period_ms: 100, segments: [{cpu_ms: 1}, {kernel_ms: 4, piece_ms: 0.5}]}
  - {name: b, period_ms: 120, segments: [{cpu_ms: 1}, {kernel_ms: 2}]}
  - {name: c, period_ms: 200, segments: [{cpu_ms: 1}, {kernel_ms: 194}]}
YAML
# The real planner, unless the file `mode` says otherwise.
cat >"$scratch/planner" <<SH
#!/bin/bash
case \$(cat "$scratch/mode" 2>/dev/null) in
fail) exit 3 ;;
crash) kill -9 \$\$ ;;
slow) exec sleep 1000 ;;
hold) while [ -e "$scratch/hold" ]; do sleep 0.05; done; exit 3 ;;
junk) echo '{"schedulable": [' ; echo 'tasks: {' >&3; exit 0 ;;
lies) echo '{"tasks": 7}'; exit 1 ;;
flood) exec yes '{' ;;
*) exec "$baton" "\$@" ;;
esac
SH
chmod +x "$scratch/planner"

# The last line of a test.
tasks_end() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
