#!/usr/bin/env bash
# What batond shows and decides of CUDA programs: `baton top`, metrics, and the admission of tasks.
# On the CPU device. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
source=$(cd "$(dirname "$0")" && pwd)
kernels=$source/../cuda_conformance/kernels.ptx
load=$build/tests/cuda_front/cuda-load
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CUDA_CPU_CC=$source/quick_cc BATON_CACHE_DIR=$build/tests/cuda_front/quick-cache
export BATON_CUDA_CPU_ENGINES=$scratch/engines
mkdir -p "$BATON_CACHE_DIR"

# The second task fits beside the first; the third does not.
cat >"$scratch/tasks.yaml" <<'END'
platform: {cpus: 4, gpus: 1}
tasks:
  - {name: eye, period_ms: 100, segments: [{cpu_ms: 1}, {kernel_ms: 20, piece_ms: 0.5}, {cpu_ms: 1}]}
  - {name: ear, period_ms: 200, segments: [{cpu_ms: 1}, {kernel_ms: 20, piece_ms: 0.5}, {cpu_ms: 1}]}
  - {name: arm, period_ms: 200, segments: [{cpu_ms: 1}, {kernel_ms: 150, piece_ms: 0.5}, {cpu_ms: 1}]}
END
printf 'probe: false\nplanner_ms: 600000\nadmission: refuse\nmetrics: %s\ntasks: %s\n' "$scratch/metrics" \
    "$scratch/tasks.yaml" >"$scratch/config"

# task NAME: a program with one kernel after the other, until the file $scratch/go is gone
task() {
    "$build/baton" run --device cpu --require-daemon --task "$1" -- "$load" "$kernels" hog 5 "$scratch/go"
}
# A reader of metrics: the sum of a number over the samples with such a label.
metric() { # NAME LABEL
    python3 - "$scratch/metrics" "$1" "$2" <<'PY'
import re, socket, sys
path, name, label = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
print(sum(float(value) for labels, value in re.findall(r"(?m)^%s\{(.*)\} (\S+)$" % name, text)
          if label in labels))
PY
}
is_counted() { # NAME LABEL
    case $(metric "$1" "$2") in
    '' | 0 | 0.0) return 1 ;;
    esac
}
# Waits until a number is above zero.
await_metric() { # NAME LABEL
    await "$daemon" is_counted "$@"
}

start_daemon --config "$scratch/config"
touch "$scratch/go"
task eye >"$scratch/eye" 2>&1 &
eye=$!
task ear >"$scratch/ear" 2>&1 &
ear=$!
# The task of lower priority has a piece now and then, under a load, too.
await_metric baton_client_pieces_total 'name="eye"' && await_metric baton_client_pieces_total 'name="ear"' &&
    await_metric baton_client_jobs_total 'name="eye"' && await_metric baton_task_jobs_total 'task="eye"'
verdict $? "metrics count pieces and jobs: $(tail -n 1 "$scratch/daemon.log")"
[ "$(metric baton_task_admitted 'task="e')" = 2.0 ] && [ "$(metric baton_task_admitted 'task="arm"')" = 0.0 ]
verdict $? "metrics have the admitted tasks"
"$build/baton" top --once >"$scratch/top" 2>&1
verdict $? "top: $(head -n 1 "$scratch/top")"
# pid, user, name, priority, state, GPU, jobs a second ...
grep -qE "^ *[0-9]+ +[^ ]+ +eye +20 +[^ ]+ +[0-9]+% +[0-9.]*[1-9]" "$scratch/top" &&
    grep -qE "^ *[0-9]+ +[^ ]+ +ear +10 " "$scratch/top"
verdict $? "top shows both programs: $(cat "$scratch/top")"
task arm >"$scratch/arm" 2>&1
[ $? -eq 125 ] && grep -q 'task arm is refused: beside the tasks that run, arm cannot be shown' "$scratch/arm"
verdict $? "a task that does not fit is refused: $(cat "$scratch/arm")"
rm "$scratch/go"
wait "$eye" && wait "$ear"
verdict $? "the programs are well: $(tail -n 1 "$scratch/eye") $(tail -n 1 "$scratch/ear")"
await "$daemon" has_clients 0
verdict $? "batond has seen that they are gone"
task arm >"$scratch/arm" 2>&1
verdict $? "it is admitted when the others are gone: $(tail -n 1 "$scratch/arm")"
report
