#!/usr/bin/env bash
# For the tests of checks in tools/: makes a folder for a tree, in which the test plants what the
# check must find. usage: source planted.sh CHECK, which gets the folder as its argument
set -uo pipefail
check=("$@")
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

# expects NAME PATTERN: the check fails with a line that matches; '' as pattern: it passes and
# prints nothing.
expects() {
    local output code=0
    output=$("${check[@]}" "$root" 2>&1) || code=$?
    if [ -z "$2" ]; then
        [ "$code" -eq 0 ] && [ -z "$output" ]
    else
        [ "$code" -ne 0 ] && grep -qE "$2" <<<"$output"
    fi && passed=$((passed + 1)) && return
    failed=$((failed + 1))
    printf 'FAILED: %s (exit status %d)\n%s\n' "$1" "$code" "$output"
}

# The status of the test.
planted_end() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
