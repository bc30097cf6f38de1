#!/usr/bin/env bash
# tools/check-names finds what is planted: two files of one name; a tag, an enumerator of a header
# or a function that is defined twice; and it passes the same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-names"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src/{a,b,cli/plan},include/baton}
    printf 'struct x {\n    int a;\n};\nenum kind { A };\n' >"$root/src/a/x.h"
    printf 'struct x;\nstruct y {\n    struct x *next;\n};\nstatic struct x *find(enum kind kind);\n' \
        >"$root/src/b/y.c"
    printf 'enum { OWN = LEAST(A, 2) };\nstatic int own(int x)\n{\n}\nint main(void)\n{\n    own(A);\n}\n' \
        | tee "$root/src/a/own.c" >"$root/src/b/own_too.c"
    printf 'int a_f(int x)\n{\n}\nint cuInit(int x)\n{\n}\nint\nb_f(int x)\n{\n}\n' >"$root/src/a/f.c"
    printf '#if 1\nint b_g(int x)\n{\n}\n#else\nint b_g(int x)\n{\n}\n#endif\nint cuInit(int x)\n{\n}\n' \
        >"$root/src/b/g.c"
    touch "$root"/src/{a,b}/main.c "$root"/src/{a,cli,cli/plan}/plan.c "$root/include/baton/x.h"
}

clean_tree
expects 'uses, main files, sub-commands and public headers are no second definitions' ''

clean_tree
touch "$root/src/b/x.h"
expects 'two files of one name' 'src/b/x.h: src/a/x.h has the same name'

clean_tree
echo 'struct x {' >>"$root/src/b/y.c"
expects 'a struct that is defined twice' 'src/b/y.c:6: struct x is defined in src/a/x.h:1, too'

clean_tree
echo 'enum kind { B };' >"$root/include/baton/y.h"
expects 'an enum that is defined twice' 'src/a/x.h:4: enum kind is defined in include/baton/y.h:1, too'

clean_tree
echo 'union x {' >>"$root/src/b/y.c"
expects 'a tag that is a struct and a union' 'src/b/y.c:6: union x: src/a/x.h:1 has struct x'

clean_tree
echo 'enum x { B };' >"$root/include/baton/y.h"
expects 'a tag that is a struct and an enum' 'src/a/x.h:1: struct x: include/baton/y.h:1 has enum x'

clean_tree
printf 'enum {\n    /* A */ B = 1,\n    A, /* the second */\n};\n' >"$root/src/b/y.h"
expects 'an enumerator that is defined twice' 'src/b/y.h:3: enumerator A is defined in src/a/x.h:4, too'

clean_tree
echo 'enum { A };' >>"$root/src/b/g.c"
expects 'an enumerator of a header and of a source' 'src/b/g.c:13: enumerator A is defined in src/a/x.h:4'

clean_tree
printf 'struct x *a_f(struct y *y,\n              int z)\n{\n}\n' >>"$root/src/b/g.c"
expects 'a function that is defined twice' 'src/b/g.c:13: a_f\(\) is defined in src/a/f.c:1, too'

clean_tree
printf '/*\nint a_f(int x)\n{\n}\n */\nstatic int a_f(int x)\n{\n}\nint a_f(int x);\n' >>"$root/src/b/g.c"
expects 'comments, static functions and declarations are no second definitions' ''

planted_end
