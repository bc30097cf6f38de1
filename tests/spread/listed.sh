#!/usr/bin/env bash
# A plan that lists GPUs: the kernels of its program run there, whichever device the program opened,
# and give the same bytes. The engines of the daemon say where they ran. Ends with `N passed, N
# failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
cases=$build/tests/spread/spread-cases
export POCL_DEVICES="basic basic basic"

"$cases" >"$scratch/one"
verdict $? "one device alone"

planned() { # GPUS PLACEMENT [CASE]
    cat >"$scratch/plan.yaml" <<PLAN
analysis: holistic
profile: priority
tasks:
  - {name: cases, priority: 50, gpus: $1, placement: $2, piece_ms: 0.5, bound_ms: 1000}
PLAN
    start_daemon --plan "$scratch/plan.yaml"
    rm -f "$scratch/stats"
    timeout 900 "$build/baton" run --require-daemon --name cases --stats "$scratch/stats" \
        -- "$cases" ${3:+"$3"} >"$scratch/several" 2>"$scratch/errors" ||
        echo "status $?" >>"$scratch/several"
    "$build/baton" status --json >"$scratch/status"
}

same() { # NAME, after planned
    diff "$scratch/one" "$scratch/several" >"$scratch/diff"
    verdict $? "$1: the same bytes ($(head -n 3 "$scratch/diff" |
        tr '\n' ' ') $(head -c 300 "$scratch/errors"))"
}

grants() { # GPU: of its execution engine
    python3 -c 'import json, sys
engines = json.load(open(sys.argv[2]))["engines"]
print(*[e["grants"] for e in engines if e["name"] == "gpu" + sys.argv[1]])' "$1" "$scratch/status"
}

# One GPU of three. What cannot be moved would show as grants of the first.
for gpu in 0 1 2; do
    planned 1 "[$gpu]" own_writes
    diff <(grep own_writes "$scratch/one") "$scratch/several" >/dev/null
    verdict $? "[$gpu]: the same bytes ($(head -c 300 "$scratch/errors"))"
    for other in 0 1 2; do
        if [ "$other" -eq "$gpu" ]; then
            [ "$(grants "$other")" -gt 0 ]
        else
            [ "$(grants "$other")" -eq 0 ]
        fi
        verdict $? "[$gpu]: kernels run there and nowhere else (gpu$other: $(grants "$other") grants)"
    done
    [ "$(number placed_launches)" -eq "$([ "$gpu" -eq 0 ] && echo 0 || echo 2)" ]
    verdict $? "[$gpu]: placed launches ($(number placed_launches))"
done
planned 1 "[2]"
same "[2], every case"
[ "$(number placed_launches)" -gt 45 ]
verdict $? "[2], every case: launches are placed ($(number placed_launches))"

# Two GPUs that are not the program's own: its device has no share.
planned 2 "[1, 2]" own_writes
[ "$(number split_launches)" -eq 2 ] && [ "$(grants 0)" -eq 0 ] && [ "$(grants 1)" -gt 0 ] &&
    [ "$(grants 2)" -gt 0 ]
verdict $? "[1, 2]: split over these ($(number split_launches) split, grants $(grants 0) $(grants \
    1) $(grants 2))"
planned 2 "[1, 2]"
same "[1, 2], every case"
[ "$(number split_launches)" -gt 40 ]
verdict $? "[1, 2], every case: launches are split ($(number split_launches))"
planned 2 "[0, 2]" own_writes
[ "$(number split_launches)" -eq 2 ] && [ "$(grants 0)" -gt 0 ] && [ "$(grants 1)" -eq 0 ] &&
    [ "$(grants 2)" -gt 0 ]
verdict $? "[0, 2]: split over these (grants $(grants 0) $(grants 1) $(grants 2))"

# A GPU that is not there: the program runs all the same, where it is.
planned 1 "[5]" own_writes
diff <(grep own_writes "$scratch/one") "$scratch/several" >/dev/null && [ "$(grants 0)" -gt 0 ] &&
    [ "$(number placed_launches)" -eq 0 ]
verdict $? "[5]: the program's own device (grants $(grants 0))"
report
