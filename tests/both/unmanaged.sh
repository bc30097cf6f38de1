#!/usr/bin/env bash
# Devices that batond does not manage. Under `gpusync` a program may not open them, through either
# API; under other profiles it works there without a rule. Both are said, with the device, in the
# statistics and by `baton status`. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh disable=SC1091,SC2119
. "$(dirname "$0")/../stage.sh"
device=$build/cuda-cpu
opener=$build/tests/both/opener
unset LD_LIBRARY_PATH # meson names the folders of libraries; here the programs and `baton run` find them
export BATON_CUDA_CPU_ENGINES=$scratch/engines BATON_CUDA_CPU_DEVICES=2 POCL_DEVICES="basic basic"
[ "${BATON_SANITIZER:-none}" = none ] || export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

daemon_with() { # LINES of the configuration
    printf '%s\n' "$@" 'probe: false' >"$scratch/config"
    start_daemon --config "$scratch/config"
}
under() { env LD_LIBRARY_PATH="$build" "$build/baton" run --device cpu --stats "$scratch/stats" "$@"; }

# The program runs until the file is gone; returns when it has opened what it was given.
open_and_stay() { # OPENER'S ARGUMENTS
    touch "$scratch/go"
    rm -f "$scratch/go.ready"
    under --require-daemon -- "$opener" "$@" "$scratch/go" >"$scratch/out" 2>"$scratch/err" &
    program=$!
    await $program [ -e "$scratch/go.ready" ] || true # the caller looks at what it said
}
end_with() { # STATUS NAME
    rm -f "$scratch/go"
    wait "$program"
    [ $? -eq "$1" ]
    verdict $? "$2: ends with $1: $(tail -n 1 "$scratch/out") $(tail -n 1 "$scratch/err")"
}
status_has() { # NOTICE TEXT
    "$build/baton" status >"$scratch/status" 2>&1
    grep -q "($1)" "$scratch/status" && grep -q "$2" "$scratch/status"
}
# Waits: what a program says is on its way to batond.
status_says() { # NOTICE TEXT
    await "$program" status_has "$@"
}
stats_say() { grep -q "\"reason\": \"$1\".*\"detail\": \"[^\"]*$2" "$scratch/stats"; }

# The second of two devices is beyond `devices: 1`, or was not found.
refused() { # WAY DEVICE KEY LINES: of the configuration, of which KEY is the reason
    local way=$1 name=$2 key=$3
    shift 3
    daemon_with 'profile: gpusync' "$@"
    under --require-daemon -- "$opener" "$way" 0 1 >"$scratch/out" 2>"$scratch/err"
    verdict $? "$way: the first device works: $(tail -n 1 "$scratch/err")"
    ! grep -q . "$scratch/err"
    verdict $? "$way: nothing is said of it: $(cat "$scratch/err")"
    open_and_stay "$way" 0 2
    status_says refused "$name"
    verdict $? "$way: status says it: $(cat "$scratch/status")"
    end_with 4 "$way: the second device is refused"
    [ "$(cat "$scratch/out")" = "device 0: 0
device 1: $([ "$way" = opencl ] && echo -2 || echo 46)" ]
    verdict $? "$way: the first is not: $(cat "$scratch/out")"
    [ "$(grep -c "$name.*$key:" "$scratch/err")" -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ]
    verdict $? "$way: one sentence says which device and what to do: $(cat "$scratch/err")"
    stats_say refused "$name"
    verdict $? "$way: the statistics say it: $(grep -o '"notices.*' "$scratch/stats")"
    ! stats_say unmanaged .
    verdict $? "$way: nothing ran there: $(grep -o '"notices.*' "$scratch/stats")"
}

unmanaged() { # WAY DEVICE
    daemon_with 'profile: priority' 'devices: 1'
    open_and_stay "$1" 0 2
    status_says unmanaged "$2"
    verdict $? "$1: status says that a device is not managed: $(cat "$scratch/status")"
    end_with 0 "$1: the program works there all the same"
    stats_say unmanaged "$2"
    verdict $? "$1: the statistics say it: $(grep -o '"notices.*' "$scratch/stats")"
}

# The devices are open when a batond comes that refuses one of them: nothing of the program is lost.
restarted() { # WAY DEVICE
    daemon_with 'profile: gpusync' 'devices: 2'
    open_and_stay "$1" 0 2
    daemon_with 'profile: gpusync' 'devices: 1'
    status_says unmanaged "$2"
    verdict $? "$1: a device that is open is not managed any more: $(cat "$scratch/status")"
    end_with 0 "$1: the program goes on there"
    stats_say unmanaged "$2"
    verdict $? "$1: the statistics say that, too: $(grep -o '"notices.*' "$scratch/stats")"
}

first_opencl=portable-computing-language:0
second_opencl=portable-computing-language:1
for way in cuda primary green; do
    refused "$way" pci:ba70:b1:00.0 devices 'devices: 1'
done
refused opencl $second_opencl devices 'devices: 1'
refused opencl $second_opencl declare 'devices: 4' 'declare: false' "gpus: [{name: '$first_opencl'}]"
refused cuda pci:ba70:b1:00.0 declare 'devices: 4' 'declare: false' "gpus: [{name: 'pci:ba70:b0:00.0'}]"
for way in cuda opencl; do
    second=$([ $way = cuda ] && echo pci:ba70:b1:00.0 || echo $second_opencl)
    unmanaged "$way" "$second"
    restarted "$way" "$second"
done

# A context of all devices is refused for one of them.
daemon_with 'profile: gpusync' 'devices: 1'
under --require-daemon -- "$opener" type 0 1 >"$scratch/out" 2>"$scratch/err"
[ $? -eq 4 ] && grep -q "$second_opencl" "$scratch/err"
verdict $? "a context of both devices: $(cat "$scratch/out" "$scratch/err")"

# 32 leases are enough for ten devices and two engines of another one.
export BATON_CUDA_CPU_DEVICES=12
daemon_with 'profile: gpusync' 'devices: 12'
open_and_stay cuda 0 12
status_says refused pci:ba70:ba:00.0
verdict $? "the 11th device of a process: $(cat "$scratch/status")"
end_with 4 "more engines than leases"
[ "$(grep -c ': 0$' "$scratch/out")" -eq 10 ]
verdict $? "ten devices have leases: $(tail -n 3 "$scratch/out")"
daemon_with 'profile: priority' 'devices: 12'
open_and_stay cuda 0 12
status_says unmanaged pci:ba70:ba:00.0
verdict $? "the 11th device without tokens: $(cat "$scratch/status")"
end_with 0 "without tokens all work"

# A daemon that is required and absent: as in OpenCL, no context.
export BATON_CUDA_CPU_DEVICES=1
stop_daemon TERM
for way in cuda primary green; do
    BATON_REQUIRE_DAEMON=1 BATON_CUDA_LIBRARY=$device/libcuda.so.1 LD_LIBRARY_PATH=$build \
        LD_PRELOAD=$build/libbaton-cuda.so "$opener" $way 0 1 >"$scratch/out" 2>&1
    [ $? -eq 4 ]
    verdict $? "$way: no context without the daemon that is required: $(cat "$scratch/out")"
done
report
