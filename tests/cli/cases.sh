# Sourced by tests of the command line: counts cases, ends with `N passed, N failed`. Needs
# $BATON_BUILD.
# shellcheck shell=bash
baton=$BATON_BUILD/baton
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# shellcheck source=tests/patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/../patience.sh"
timeout() { # SECONDS COMMAND...
    command timeout $(($1 * slowness)) "${@:2}"
}

# check NAME COMMAND...: the case passes when the command succeeds; its output is shown when it does
# not.
check() {
    local name=$1
    shift
    if "$@" >"$scratch/.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$scratch/.log" | head -n 20
    fi
}

# exits STATUS COMMAND...: true when the command exits with exactly this status; output stays in
# $scratch/out and err.
exits() {
    local wanted=$1 got=0
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "exit $got, wanted $wanted: $*"
        cat "$scratch/out" "$scratch/err"
        return 1
    }
}

# says FILE TEXT: the text stands in $scratch/FILE.
says() {
    grep -qF -- "$2" "$scratch/$1" || {
        echo "no '$2' in:"
        cat "$scratch/$1"
        return 1
    }
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
