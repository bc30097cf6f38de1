#!/usr/bin/env bash
# Programs that keep their compiled kernels (tests/opencl/binaries.c; pyopencl where it is
# installed): what they kept without Baton does not keep their kernels whole, and no program fails
# for it. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so
program=$build/tests/opencl/layer-binaries

plain() { # KIND...
    timeout 900 "$program" "$scratch/kept" "$@" >"$scratch/out" 2>&1
}

under() { # VARIABLE=VALUE... -- KIND...
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    rm -f "$scratch/stats"
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_SLICE=2 BATON_STATS=$scratch/stats env "${variables[@]}" \
        timeout 900 "$program" "$scratch/kept" "$@" >"$scratch/out" 2>&1
}

expect() { # NAME WORD cut|whole: how it came by its kernel, that it computed right, and how that ran
    local pieces
    pieces=$(number pieces)
    [ "$(cat "$scratch/out")" = "$2"$'\n'"0 wrong" ]
    verdict $? "$1: $2, and right ($(tr '\n' ' ' <"$scratch/out"))"
    if [ "$3" = cut ]; then [ "${pieces:-0}" -gt 100 ]; else [ "${pieces:-1}" -eq 0 ]; fi
    verdict $? "$1: $3 (${pieces:-no} pieces)"
}

fresh() {
    rm -rf "$scratch/kept" "$BATON_CACHE_DIR"
    mkdir -p "$scratch/kept" "$BATON_CACHE_DIR"
}

fresh
plain versioned
under BATON_BINARIES=keep -- versioned
expect "binaries keep" loaded whole
fresh
plain versioned
under A=1 -- versioned
expect "a cache that was filled without Baton" built cut
under A=1 -- versioned
expect "the same, the next time" loaded cut
plain versioned
[ "$(head -n 1 "$scratch/out")" = loaded ]
verdict $? "what was kept without Baton is still there without Baton"

rm -rf "$BATON_CACHE_DIR" && mkdir -p "$BATON_CACHE_DIR"
under A=1 -- versioned
expect "Baton's own cache was removed" built cut

fresh
under BATON_SLICE=auto -- versioned # no daemon: nothing is cut, but what is handed out is remembered
expect "without a daemon" built whole
under A=1 -- versioned
expect "filled without a daemon, loaded with one" loaded cut

fresh
plain linked
under A=1 -- linked
expect "compiled with a header and linked" built cut
under A=1 -- linked
expect "the same, the next time" loaded cut

fresh
under BATON_SLICE=off -- versioned
plain versioned
[ "$(head -n 1 "$scratch/out")" = loaded ]
verdict $? "where nothing is ever cut, the driver's version is its own"

# Kept under a name that says nothing of the driver: loaded, and whole, unless the user says that
# the program copes.
fresh
plain naive
under A=1 -- naive stubborn
expect "a naive cache that was filled without Baton" loaded whole
under BATON_BINARIES=refuse -- naive
expect "the same, refused" refused cut
under BATON_BINARIES=refuse -- naive stubborn
expect "the next time it is known, so it is not refused" loaded cut

# One binary of two is known: the statuses tell them apart.
fresh
BATON_BINARIES=refuse BATON_SLICE=2 OPENCL_LAYERS=$build/libbaton-layer.so timeout 900 \
    "$build/tests/opencl/layer-binaries-two" >"$scratch/out" 2>&1
verdict $? "one of two is known: $(tr '\n' ' ' <"$scratch/out")"

# pyopencl keeps binaries by default, under the user's cache folder.
unset OCL_ICD_VENDORS
if [ "${BATON_SANITIZER:-none}" != none ]; then
    echo "left out: pyopencl (Python cannot load a sanitized layer)"
elif /usr/bin/python3 -c 'import pyopencl' 2>/dev/null; then
    export XDG_CACHE_HOME=$scratch/xdg POCL_DEVICES=basic
    mkdir -p "$XDG_CACHE_HOME"
    cat >"$scratch/kept.py" <<'PY'
import os
import sys
import warnings
warnings.simplefilter("ignore") # of packages that pyopencl misses
import numpy
import pyopencl as cl
import pyopencl.cache
import pyopencl.characterize
warnings.simplefilter("error")
# Its newer versions keep no binaries if the driver keeps some itself, as PoCL does.
pyopencl.characterize.has_src_build_cache = lambda device: False
seen = []
real = pyopencl.cache._create_built_program_from_source_cached
def spy(*args, **more):
    answer = real(*args, **more)
    seen.append("loaded" if answer[2] else "built")
    return answer
pyopencl.cache._create_built_program_from_source_cached = spy
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, """kernel void put(global int *a, int rounds)
{
    int i = get_global_id(0);
    for (int k = 0; k < rounds; k++)
        a[i] = 3 * i + (k & a[i]);
    a[i] = 3 * i;
}""").build()
values = numpy.zeros(1024, numpy.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
wrong = 0
while True:
    program.put(queue, (1024,), (4,), buffer, numpy.int32(1000))
    cl.enqueue_copy(queue, values, buffer)
    wrong += (values != 3 * numpy.arange(1024)).sum()
    if not os.path.exists("".join(sys.argv[1:])): # with an argument, as long as there is that file
        break
print(seen[0])
print(wrong, "wrong")
PY
    program=/usr/bin/python3
    python() { # VARIABLE=VALUE...
        rm -f "$scratch/stats"
        env "$@" BATON_STATS="$scratch/stats" timeout 900 /usr/bin/python3 "$scratch/kept.py" \
            >"$scratch/out" 2>&1
    }
    fresh
    python A=1
    [ "$(head -n 1 "$scratch/out")" = built ]
    verdict $? "pyopencl, plain: $(tr '\n' ' ' <"$scratch/out")"
    python A=1
    [ "$(head -n 1 "$scratch/out")" = loaded ]
    verdict $? "pyopencl, plain, again: $(tr '\n' ' ' <"$scratch/out")"
    python OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=2
    expect "pyopencl, under Baton" built cut
    python OPENCL_LAYERS="$build/libbaton-layer.so" BATON_SLICE=2
    expect "pyopencl, under Baton, again" loaded cut

    # Beside a program with 200 deadlines, with kernels from pyopencl's cache: every launch of 256
    # groups is cut into pieces of two, and gives way between them.
    start_daemon
    : >"$scratch/go"
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_SLICE=2 BATON_PRIORITY=10 BATON_STATS=$scratch/stats \
        timeout 900 /usr/bin/python3 "$scratch/kept.py" "$scratch/go" >"$scratch/out" 2>&1 &
    hog=$!
    wait_for_holder $hog
    OPENCL_LAYERS=$build/libbaton-layer.so BATON_PRIORITY=80 timeout 900 "$build/examples/demo/urgent" \
        --steps 100 --period 5 --jobs 200 >"$scratch/urgent" &&
        grep -q "jobs 200 .* wrong 0" "$scratch/urgent"
    verdict $? "200 jobs beside pyopencl: $(cat "$scratch/urgent")"
    rm "$scratch/go"
    wait $hog
    expect "pyopencl beside 200 jobs" loaded cut
    [ "$(number kernel_launches)" -gt 0 ] && [ "$(number pieces)" -eq $((128 * $(number kernel_launches))) ]
    verdict $? "pyopencl beside 200 jobs: no launch is whole ($(number kernel_launches) launches, $(number \
        pieces) pieces)"
else
    echo "left out: pyopencl (not installed)"
fi
report
