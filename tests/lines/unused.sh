#!/usr/bin/env bash
# tools/check-unused finds what is planted: a function that is only declared and defined, or named
# in a comment besides; and it passes calls, pointers in tables and names that macros paste.
set -uo pipefail
check=$BATON_SOURCE/tools/check-unused
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src/a,tests}
    printf 'int a_used(int x);\nint a_row(int x);\n#define ROW(n) a_##n\nROW(pasted)\n' >"$root/src/a/a.h"
    printf 'int a_used(int x)\n{\n    return x;\n}\n\nint a_row(int x)\n{\n    return x;\n}\n\n' \
        >"$root/src/a/a.c"
    printf 'int a_pasted(int x)\n{\n    return a_used(x);\n}\n' >>"$root/src/a/a.c"
    printf 'int (*const rows[])(int) = {a_row};\n' >"$root/tests/t.c"
}

# expects NAME PATTERN: the check fails with a line that matches; '' as pattern: it passes.
expects() {
    local output code=0
    output=$("$check" "$root" 2>&1) || code=$?
    if [ -z "$2" ]; then
        [ "$code" -eq 0 ] && [ -z "$output" ]
    else
        [ "$code" -ne 0 ] && grep -qE "$2" <<<"$output"
    fi && passed=$((passed + 1)) && return
    failed=$((failed + 1))
    printf 'FAILED: %s (exit status %d)\n%s\n' "$1" "$code" "$output"
}

clean_tree
expects 'calls, rows of tables and pasted names are uses' ''

clean_tree
printf '\nint a_left(int x)\n{\n    return x;\n}\n' >>"$root/src/a/a.c"
echo 'int a_left(int x);' >>"$root/src/a/a.h"
expects 'a function that is only declared' 'src/a/a.c: a_left is called nowhere'

echo '/* a_left() is mentioned */' >>"$root/src/a/a.h"
expects 'a comment is no use' 'src/a/a.c: a_left is called nowhere'

echo 'static inline int a_inline(int x) { return a_left(x); }' >>"$root/src/a/a.h"
expects 'a use in a header' ''

clean_tree
rm "$root/tests/t.c"
expects 'a use that is gone' 'src/a/a.c: a_row is called nowhere'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
