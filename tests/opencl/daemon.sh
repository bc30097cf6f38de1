#!/usr/bin/env bash
# The layer with a real daemon on the fake driver, whose kernels take as long as the script says: an
# urgent program gets between the pieces of a hog; a daemon that dies, or comes back, changes no
# result. Under a virtual clock: times below are what scripts and rules make them, on any machine.
# Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
load=$build/tests/opencl/layer-load

start_clock

worst() { # FILE: the longest launch of layer-load but its first, in whole ms
    sed -n 's/.*max \([0-9]*\).*/\1/p' "$1"
}

launches() { # FILE: of layer-load
    sed -n 's/\([0-9]*\) launches.*/\1/p' "$1"
}

# A program beside another one runs for as long as the other needs it: `load "$scratch/go" ...` goes
# on until the file is gone.
begin() { # NAME COMMAND...: in the background until `end NAME`; it holds an engine when this returns
    local name=$1
    shift
    : >"$scratch/go"
    "$@" >"$scratch/$name" &
    beside=$!
    wait_for_holder $beside
}
end() { # NAME WHAT: it may end, and its results are right
    rm "$scratch/go"
    wait $beside
    verdict $? "$2 ($(cat "$scratch/$1"))"
}

granted() { # by the daemon so far
    "$build/baton" status --json --socket "$scratch/socket" | sed -n 's/^    "grants": \([0-9]*\).*/\1/p' |
        head -n 1
}

under() { # PRIORITY STATS COMMAND...
    local priority=$1 stats=$2
    shift 2
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_PRIORITY=$priority BATON_STATS=$stats timeout 900 \
        "${on_clock[@]}" "$@"
}

export FAKE_CL="group_ns scale 100000" # a hog of 2000 groups takes 200 ms
start_daemon
# the rewriting is in the cache: what follows is about scheduling alone
under 10 "$scratch/first.json" "$load" 10x 1 0 >/dev/null
begin hog under 10 "$scratch/hog.json" "$load" "$scratch/go" 2000 0
under 80 "$scratch/urgent.json" "$load" 100x 1 5 >"$scratch/urgent"
verdict $? "the urgent program's results are right ($(cat "$scratch/urgent"))"
end hog "the hog's results are right"
# once per launch of the urgent one, but for those between two of its own
[ "$(number yields "$scratch/hog.json")" -ge 50 ]
by_clock $? "the hog gave way ($(number yields "$scratch/hog.json") times)"
[ "$(number pieces "$scratch/hog.json")" -gt 100 ]
verdict $? "the hog ran in pieces ($(number pieces "$scratch/hog.json"))"
[ "$(worst "$scratch/urgent")" -lt 50 ] # behind a whole kernel: 200 ms
by_clock $? "the urgent one did not wait for whole hog kernels ($(cat "$scratch/urgent"))"

# A job that copies in, computes and copies out takes the bus from itself, without the daemon:
# no other client wants it.
for commands in "" "; sync"; do # that run beside the program, or inside of its calls
    before=$(granted)
    under 50 "$scratch/job.json" env FAKE_CL="$FAKE_CL; duration WriteBuffer 200$commands" \
        "$load" 100x 1 1 1 2 >"$scratch/job"
    verdict $? "jobs of write, launch and read compute right ($(cat "$scratch/job"))"
    [ $(($(granted) - before)) -lt $(($(launches "$scratch/job") / 4)) ]
    verdict $? "they need no message each ($(($(granted) - before)) grants, $(cat "$scratch/job"))"
done

# An unmap is a copy to the device: it runs under a hold of the copy engine, as a write does.
export FAKE_CL="group_ns scale 100000; duration UnmapMemObject 20000"
begin one under 50 "$scratch/one.json" env FAKE_CL_LOG="$scratch/one.log" "$load" "$scratch/go" 1 0 1 4
under 50 "$scratch/two.json" env FAKE_CL_LOG="$scratch/two.log" "$load" 40x 1 0 1 4 >"$scratch/two"
verdict $? "a program that maps and unmaps beside another computes right ($(cat "$scratch/two"))"
end one "and so does the other"
# two's 40 unmaps; those of one between the first and the last of them; how many overlap
together=$(awk '
    $1 != "UnmapMemObject" { next }
    FNR == NR { if (!m++) first = $3; begin[m] = $3; last = end[m] = $4; next }
    { if ($3 >= first && $4 <= last) beside++ }
    { for (i = 1; i <= m; i++) if ($3 < end[i] && begin[i] < $4) both++ }
    END { print m, (beside >= 20 ? "beside" : beside + 0), both + 0 }' "$scratch/two.log" "$scratch/one.log")
[ "${together/ * / }" = "40 0" ]
verdict $? "no two of their unmaps run at the same time ($together)"
[ "$together" = "40 beside 0" ]
by_clock $? "they unmap in turns ($together)"
export FAKE_CL="group_ns scale 100000"

# A program's first launch waits for its rewritten twin, but not in the engine.
begin steady under 10 "$scratch/steady.json" "$load" "$scratch/go" 1 2
FAKE_CL="$FAKE_CL;duration BuildProgram 400000" under 80 "$scratch/first.json" "$load" 1x 50 0 \
    >"$scratch/first"
verdict $? "a program whose builds take long computes right ($(cat "$scratch/first"))"
[ "$(number pieces "$scratch/first.json")" -gt 0 ]
verdict $? "its first launch waited for the twin and ran in pieces"
end steady "so does the other one"
[ "$(worst "$scratch/steady")" -lt 200 ]
by_clock $? "no program waited for another program's build (worst $(worst "$scratch/steady") ms of 400)"

# Equals take turns, also with one that always has the next launch under way.
begin full under 50 "$scratch/full.json" env FAKE_CL="group_ns scale 200000" "$load" "$scratch/go" 1 0 32
under 50 "$scratch/equal.json" env FAKE_CL="group_ns scale 200000" "$load" 20x 1 1 >"$scratch/equal"
verdict $? "beside a program that keeps its pipeline full the results are right ($(cat "$scratch/equal"))"
end full "its own are, too"
[ "$(worst "$scratch/equal")" -lt 1000 ] # without turns it never ends
by_clock $? "its equal had its turns ($(cat "$scratch/equal"))"

# Equals that have copied once, at the beginning: the one that keeps the copy engine has no more of
# the other one for that. Without a priority, too. A request waits (n - 1)(3 T + 2 X) at most, 35 ms
# here (docs/protocols.md Q6): turns of 5 ms, kernels of 10 ms.
for priority in 50 ""; do
    begin first under "$priority" "$scratch/first.json" "$load" "$scratch/go" 100 0 1 3
    under "$priority" "$scratch/second.json" "$load" 20x 100 0 1 3 >"$scratch/second"
    verdict $? "beside an equal that keeps the copy engine the results are right ($(cat "$scratch/second"))"
    end first "its own are, too"
    [ "$(worst "$scratch/second")" -lt 500 ] # behind a hold that never ends it never ends
    by_clock $? "an equal that came later has its share ($(cat "$scratch/second"))"
done

# Turns are for equals: a less urgent program begins nothing while the pipeline is full. Launches of
# 0.2 ms, and 32 of them: it is.
begin full under 80 "$scratch/full.json" env FAKE_CL="group_ns scale 200000" FAKE_CL_LOG="$scratch/full.log" \
    "$load" "$scratch/go" 1 0 32
under 10 "$scratch/humble.json" env FAKE_CL="group_ns scale 200000" FAKE_CL_LOG="$scratch/humble.log" \
    "$load" 60x 1 0 >"$scratch/humble" &
humble=$!
wait_for_client 2 $humble
wanted=$(($(wc -l <"$scratch/full.log") + 5000)) # a second of launches with both there
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; } # FILE NUMBER
await $beside has_lines "$scratch/full.log" "$wanted"
verdict $? "both are there for a second"
end full "a program that keeps its pipeline full computes right"
wait $humble
verdict $? "so does a less urgent one beside it ($(cat "$scratch/humble"))"
between=$(awk '
    FNR == NR { if ($1 == "NDRangeKernel") end = $4; next }
    $1 == "NDRangeKernel" && $3 < end { n++ }
    END { print n + 0 }' "$scratch/full.log" "$scratch/humble.log")
[ "$between" -le 3 ] # with a turn every 5 ms all 60
by_clock $? "a full pipeline lets no less urgent program in between ($between of 60)"

# A daemon that takes its time is waited for, not passed by: for longer where it is required. The
# program that gives up after 2 s lives by the real clock, because the virtual one stands while a
# program that lives by it is stopped.
connections() { # with the daemon, accepted or not
    grep -cF "$scratch/socket" /proc/net/unix
}
wait_for_client 0
kill -STOP "$daemon"
before=$(connections)
under 50 "$scratch/late.json" "$load" 0.1 1 0 >"$scratch/late" 2>&1 &
late=$!
has_connections() { [ "$(connections)" -gt "$1" ]; } # MORE THAN
await $late has_connections "$before"
verdict $? "a program connects with a daemon that stands still"
env -u BATON_REQUIRE_DAEMON -u BATON_TEST_PATIENCE OPENCL_LAYERS="$build/libbaton-layer.so" \
    BATON_STATS="$scratch/gone.json" timeout 900 "$load" 1x 1 0 >"$scratch/gone" 2>&1
verdict $? "a daemon that is not required is given up ($(cat "$scratch/gone"))"
kill -0 $late && [ ! -s "$scratch/late" ]
verdict $? "a required one is still waited for ($(cat "$scratch/late"))"
kill -CONT "$daemon"
wait $late
verdict $? "until it answers ($(cat "$scratch/late"))"

# Without priorities of their own, `adaptive` puts the program with short jobs first (GPES).
begin long under adaptive "$scratch/long.json" "$load" "$scratch/go" 2000 0
under adaptive "$scratch/brief.json" env FAKE_CL_LOG="$scratch/brief.log" "$load" 40x 1 5 >"$scratch/brief"
verdict $? "an adaptive program beside another computes right ($(cat "$scratch/brief"))"
end long "and so does the other"
took=$(awk '
    $1 == "NDRangeKernel" { begin = begin ? begin : $3; end = $4 }
    END { printf "%d\n", (end - begin) / 1e6 }' "$scratch/brief.log")
[ "$took" -lt 4000 ] # behind whole kernels of 200 ms: 8000
by_clock $? "short jobs go first under adaptive (40 in $took ms)"

# Killed while pieces run: the program goes on by itself, and finds the next one.
begin hog under 10 "$scratch/hog.json" "$load" "$scratch/go" 500 0
stop_daemon KILL
start_daemon
wait_for_holder $beside # it has connected again
end hog "a daemon that dies and comes back changes no result"
stop_daemon TERM

# A program does not take the bus from itself: one grant for its kernels and one for its copies,
# whatever their direction.
start_daemon
under 10 "$scratch/both.json" "$load" 100x 1 1 1 copies >"$scratch/both"
verdict $? "a program that copies to and fro computes right ($(cat "$scratch/both"))"
grants=$("$build/baton" status --json | sed -n 's/.*"grants": \([0-9]*\).*/\1/p' | head -n 1)
[ "${grants:-999}" -le 3 ]
verdict $? "it asked ${grants:-?} times for $(number copies \
    "$scratch/both.json") copies and $(number kernel_launches "$scratch/both.json") launches"

# Two programs at it keep their results.
under 10 "$scratch/a.json" "$load" 100x 20 0 1 copies >"$scratch/a" &
other=$!
under 10 "$scratch/b.json" "$load" 100x 20 0 1 copies >"$scratch/b"
verdict $? "two programs that copy to and fro compute right ($(cat "$scratch/b"))"
wait $other
verdict $? "both of them ($(cat "$scratch/a"))"
stop_daemon TERM

# Of a planned program no more is in flight than its plan counts: one launch at a time where nothing
# of it is cut. Another one keeps several.
printf '%s\n' 'platform: {cpus: 2, gpus: 1}' \
    'tasks: [{name: planned, period_ms: 100, segments: [{cpu_ms: 1}, {kernel_ms: 1}]}]' >"$scratch/tasks.yaml"
in_flight() { # PAUSE_MS DEPTH NAME=VALUE...; how many launches were in the driver at once, at most
    local pause=$1 depth=$2
    shift 2
    rm -f "$scratch/log"
    under 50 "$scratch/stats" env FAKE_CL="group_ns scale 100000" FAKE_CL_LOG="$scratch/log" "$@" \
        "$load" 500x 1 "$pause" "$depth" >"$scratch/out" &&
        awk '$1 == "NDRangeKernel" && $7 > most { most = $7 } END { print most + 0 }' "$scratch/log"
}
echo 'planner_ms: 600000' >"$scratch/config.yaml"
start_daemon --tasks "$scratch/tasks.yaml" --config "$scratch/config.yaml"
many=$(in_flight 0 8 BATON_NAME=other)
[ "${many:-0}" -gt 1 ]
verdict $? "launches of a program that is not planned are given to the driver ahead (${many:-none}; $(cat \
    "$scratch/out"))"
one=$(in_flight 0 8 BATON_TASK=planned)
[ "${one:-0}" -eq 1 ]
verdict $? "those of a planned program one at a time (${one:-none}; $(cat "$scratch/out"))"
# slow enough that launches go through the worker and past it, in turns
one=$(in_flight 0.05 2 BATON_TASK=planned)
[ "${one:-0}" -eq 1 ]
verdict $? "whichever way they take (${one:-none}; $(cat "$scratch/out"))"

# Idle cores are kept awake while a program with deadlines is connected, where that is permitted,
# and only then.
awake() { # what `baton status` says, and how many files the daemon has open for it
    echo "$("$build/baton" status --json | sed -n 's/.*"cores_awake": \([a-z]*\).*/\1/p')" \
        "$(find "/proc/$daemon/fd" -lname /dev/cpu_dma_latency | wc -l)"
}
beside() { # COMMAND...: what awake says in the middle of it
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_PRIORITY=50 "$@" "${on_clock[@]}" "$load" 1000000x 1 5 \
        >"$scratch/out" &
    local program=$!
    wait_for_client 1 $program
    awake
    kill $program
    wait $program 2>/dev/null
    wait_for_client 0
}
start_daemon
kept=$([ -w /dev/cpu_dma_latency ] && echo true 1 || echo false 0)
said=$(beside env BATON_PERIOD=5)
[ "$said" = "$kept" ]
verdict $? "cores stay awake beside a program with a period, if permitted (${said:-nothing} of $kept)"
said=$(awake)
[ "$said" = "false 0" ]
verdict $? "not after it ($said)"
said=$(beside env)
[ "$said" = "false 0" ]
verdict $? "nor beside one without ($said)"
echo "awake: false" >"$scratch/asleep.yaml"
start_daemon --config "$scratch/asleep.yaml"
said=$(beside env BATON_PERIOD=5)
[ "$said" = "false 0" ]
verdict $? "nor where the configuration says so ($said)"

# The baseline runs everything whole.
start_daemon --profile fifo
under 10 "$scratch/fifo.json" "$load" 20x 100 0 >"$scratch/fifo"
verdict $? "under fifo the results are right too ($(cat "$scratch/fifo"))"
[ "$(number pieces "$scratch/fifo.json")" -eq 0 ]
verdict $? "under fifo nothing is cut"
stop_daemon TERM

# A program may end while its twin is being built: the builder stops before the driver's compiler is
# torn down.
FAKE_CL="duration BuildProgram 200000" BATON_SLICE=1 OPENCL_LAYERS=$build/libbaton-layer.so timeout 900 \
    "$load" 0 1 0 >"$scratch/short" 2>&1
verdict $? "a program may end while its twin is built ($(cat "$scratch/short"))"

OPENCL_LAYERS=$build/libbaton-layer.so BATON_REQUIRE_DAEMON=1 timeout 900 "$load" 0.1 1 0 \
    >"$scratch/refused" 2>&1
[ $? -ne 0 ]
verdict $? "a required daemon that is absent refuses the context"
report
