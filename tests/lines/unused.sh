#!/usr/bin/env bash
# tools/check-unused finds what is planted: a function that is only declared and defined, or named
# in a comment or in tests besides; and it passes calls, pointers in tables, names that macros paste
# and what its list has.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-unused"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src/a,include,tests,bench,tools}
    printf 'int a_used(int x);\nint a_row(int x);\n#define ROW(n) a_##n\nROW(pasted)\n' >"$root/src/a/a.h"
    printf 'int a_used(int x)\n{\n    return x;\n}\n\nint a_row(int x)\n{\n    return x;\n}\n\n' \
        >"$root/src/a/a.c"
    printf 'int a_pasted(int x)\n{\n    return a_used(x);\n}\n' >>"$root/src/a/a.c"
    printf 'int (*const rows[])(int) = {a_row};\n' >"$root/bench/b.c"
}

clean_tree
expects 'calls, rows of tables and pasted names are uses' ''

clean_tree
printf '\nint a_left(int x)\n{\n    return x;\n}\n' >>"$root/src/a/a.c"
echo 'int a_left(int x);' >>"$root/src/a/a.h"
expects 'a function that is only declared' 'src/a/a.c: a_left is called nowhere'

echo '/* a_left() is mentioned */' >>"$root/src/a/a.h"
expects 'a comment is no use' 'src/a/a.c: a_left is called nowhere'

printf 'static inline int a_inl(int x)\n{\n    return x ? a_left(x) : a_inl(1);\n}\n' >>"$root/src/a/a.h"
expects 'a use in a header' ''

clean_tree
rm "$root/bench/b.c"
expects 'a use that is gone' 'src/a/a.c: a_row is called nowhere'

mkdir -p "$root/tests/deep"
echo 'int (*const rows[])(int) = {a_row};' >"$root/tests/deep/t.c"
expects 'a function that only tests call' 'src/a/a.c: only tests call a_row'

echo 'a_row' >"$root/tools/for-tests.txt"
expects 'an entry without a reason' 'src/a/a.c: only tests call a_row'

printf '# a comment\na_row  the row of the table\n' >"$root/tools/for-tests.txt"
expects 'a function that only tests call and that is listed' ''

echo 'a_used  its answer' >>"$root/tools/for-tests.txt"
expects 'an entry that is no longer needed' 'for-tests.txt: a_used is no function that only tests call'

rm "$root/tools/for-tests.txt"
echo 'int a_row(int x);' >"$root/include/a.h"
expects 'a function of a public header, which programs call' ''

clean_tree
printf 'static inline bool a_flag(int x)\n{\n    return x;\n}\n' >>"$root/src/a/a.h"
expects 'an inline function of a header' 'src/a/a.h: a_flag is called nowhere'

planted_end
