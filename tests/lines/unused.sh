#!/usr/bin/env bash
# tools/check-unused finds what is planted: a function that is only declared and defined, or named
# in a comment, in tests or in benchmarks besides; a member that is never read. And it passes calls,
# pointers in tables, names that macros paste and what its list has.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-unused"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src/{a,cuda_abi},include,tests,bench,tools,examples}
    printf 'int a_used(int x);\nint a_row(int x);\n#define ROW(n) a_##n\nROW(pasted)\n' >"$root/src/a/a.h"
    printf 'int a_used(int x)\n{\n    return x;\n}\n\nint a_row(int x)\n{\n    return x;\n}\n\n' \
        >"$root/src/a/a.c"
    printf 'int a_pasted(int x)\n{\n    return a_used(x);\n}\n' >>"$root/src/a/a.c"
    printf 'int (*const rows[])(int) = {a_row};\n' >"$root/examples/b.c"
    printf '%s\n' 'struct x {' '#define N 3' '    int a, b[N];' '    unsigned c : 3;' \
        '    union {' '        void (*call)(void *user, int (*other)(int x, int y), struct z *z);' \
        '        struct { char *to; } deep;' '    } u;' '    char reserved[4], unused_half[4];' '};' \
        >"$root/src/a/m.h"
    printf '%s\n' 'static int f(struct x *x, struct x y)' '{' '    x->u.call(x->u.deep.to, &x->b[1], 0);' \
        '    *x->u.deep.to = 1;' '    return y.a + (y.c == 2);' '}' >"$root/src/a/m.c"
    printf 'struct cuda {\n    int there;\n};\n' >"$root/src/cuda_abi/c.h"
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
rm "$root/examples/b.c"
expects 'a use that is gone' 'src/a/a.c: a_row is called nowhere'

mkdir -p "$root/tests/deep"
echo 'int (*const rows[])(int) = {a_row};' >"$root/tests/deep/t.c"
expects 'a function that only tests call' 'src/a/a.c: only tests and benchmarks call a_row'

mv "$root/tests/deep/t.c" "$root/bench/t.c"
expects 'a function that only a benchmark calls' 'src/a/a.c: only tests and benchmarks call a_row'

echo 'a_row' >"$root/tools/for-tests.txt"
expects 'an entry without a reason' 'src/a/a.c: only tests and benchmarks call a_row'

printf '# a comment\na_row  the row of the table\n' >"$root/tools/for-tests.txt"
expects 'a function that only tests call and that is listed' ''

echo 'a_used  its answer' >>"$root/tools/for-tests.txt"
expects 'an entry that is no longer needed' 'for-tests.txt: a_used: src/ does without this entry'

rm "$root/tools/for-tests.txt"
echo 'int a_row(int x);' >"$root/include/a.h"
expects 'a function of a public header, which programs call' ''

clean_tree
printf 'static inline bool a_flag(int x)\n{\n    return x;\n}\n' >>"$root/src/a/a.h"
expects 'an inline function of a header' 'src/a/a.h: a_flag is called nowhere'

clean_tree
sed -i 's/int a, b/int a, lone, b/' "$root/src/a/m.h"
expects 'a member that is named nowhere' 'src/a/m.h: member lone is never read'

printf 'struct x of = {.lone = 1};\nvoid g(struct x *x)\n{\n    x->lone = 2;\n    of.lone = 3;\n}\n' |
    tee -a "$root/src/a/m.c" >/dev/null
sed -i 's/^void g/static void g/' "$root/src/a/m.c"
echo 'int t(struct x *x) { return x->lone; }' >"$root/tests/t.c"
expects 'a member that is only written, and read by tests' 'src/a/m.h: member lone is never read'

echo '.lone  what the test t sees' >"$root/tools/for-tests.txt"
expects 'a member that is listed' ''

echo '.a  not needed' >>"$root/tools/for-tests.txt"
expects 'an entry of a member that is read' 'for-tests.txt: .a: src/ does without this entry'

for use in 'x->lone == 1' 'x->lone++' 'x->lone[1] = 1, x->lone[1]'; do
    clean_tree
    sed -i 's/int a, b/int a, lone, b/' "$root/src/a/m.h"
    printf 'static int g(struct x *x)\n{\n    return %s;\n}\n' "$use" >>"$root/src/a/m.c"
    expects "a use: $use" ''
done

clean_tree
sed -i 's/void (\*call)/void (*never)(int call), (*call)/' "$root/src/a/m.h"
expects 'a pointer to a function that is never read' 'src/a/m.h: member never is never read'

planted_end
