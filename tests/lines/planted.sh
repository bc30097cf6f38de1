#!/usr/bin/env bash
# tools/check-lines finds what is planted: wide lines of each kind, a long file or paragraph, a long
# function of each language, and an entry of its list that is no longer needed; and it passes the
# same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-lines"

wide() { printf "%$1s" '' | tr ' ' x; } # WIDTH
lines() { seq -f 'int x%g;' "$1"; } # N

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src,docs,tools,tests/corpus}
    printf '/* %s */\nint x = %s;\n' "$(wide 94)" "$(wide 101)" >"$root/src/x.c"
    printf '%s\n' "$(wide 120)" >"$root/docs/x.md"
    printf '#!/bin/sh\n# %s\necho %s\n' "$(wide 98)" "$(wide 105)" >"$root/tools/x"
    wide 400 >"$root/docs/x.svg"
    wide 400 >"$root/tests/corpus/x"
}

clean_tree
expects 'a tree within its limits passes, data of any width' ''

clean_tree
printf 'int %s;\n' "$(wide 106)" >>"$root/src/x.c"
expects 'a line of C' 'src/x.c:3: 111 columns \(at most 110\)'

clean_tree
wide 111 >"$root/docs/x.tsv"
expects 'a line of a list' 'docs/x.tsv:1: 111 columns'

clean_tree
printf '\t\t%s\n' "$(wide 95)" >"$root/Makefile"
expects 'a tab counts as far as the eighth column' 'Makefile:1: 111 columns'

clean_tree
printf 'é%s\n' "$(wide 119)" >"$root/docs/x.md"
expects 'a letter of two bytes is one column' ''

clean_tree
wide 121 >"$root/docs/x.md"
expects 'a line of Markdown' 'docs/x.md:1: 121 columns \(at most 120\)'

clean_tree
printf '/* %s */\n' "$(wide 95)" >>"$root/src/x.c"
expects 'a comment of C' 'src/x.c:3: a comment of 101 columns'

clean_tree
printf '/*\n * %s\n */\n' "$(wide 98)" >>"$root/src/x.c"
expects 'a comment of several lines' 'src/x.c:4: a comment of 101 columns'

clean_tree
printf '    # %s\n' "$(wide 95)" >>"$root/tools/x"
expects 'a comment of a script' 'tools/x:4: a comment of 101 columns'

clean_tree
seq 6 >"$root/docs/x.md" # then 7 lines of a table and of code
printf '\n%s\n```\n%s\n```\n' "$(seq -f '| %g |' 7)" "$(seq 7)" >>"$root/docs/x.md"
expects 'a paragraph of six lines, tables and code' ''

printf '\n- a\n%s\n- b\n' "$(seq -f '  %g' 5)" >>"$root/docs/x.md"
expects 'an item of six lines' ''

printf '\n%s\n' "$(seq 7)" >>"$root/docs/x.md"
expects 'a long paragraph' 'docs/x.md:33: a paragraph of 7 lines \(at most 6\)'

clean_tree
printf 'x\n\n- a\n- b\n%s\n' "$(seq -f '  %g' 6)" >"$root/docs/x.md"
expects 'a long item' 'docs/x.md:4: a paragraph of 7 lines'

clean_tree
lines 501 >"$root/src/x.c"
expects 'a long file' 'src/x.c: 501 lines \(at most 500\)'

echo 'src/x.c 501' >"$root/tools/longer.txt"
expects 'a long file that is listed' ''

lines 500 >"$root/src/x.c"
expects 'an entry that is no longer needed' 'longer.txt: src/x.c: 500 lines: remove its entry'

clean_tree
{ printf 'static int far(void)\n{\n' && lines 61 && printf '}\n'; } >"$root/src/x.c"
expects 'a long function' 'src/x.c:2: far has 61 lines \(at most 60\)'

echo 'src/x.c 61 far' >"$root/tools/longer.txt"
expects 'a long function that is listed' ''

clean_tree
{ printf '__global__ void far(int *p)\n{\n' && lines 61 && printf '}\n'; } >"$root/src/x.cu"
expects 'a long function of CUDA' 'src/x.cu:2: far has 61 lines'

for file in src/x.cu src/x.inc src/x.S src/x.py tools/x.sh; do
    clean_tree
    seq -f 'x = %g' 501 >"$root/$file"
    expects "a long file: $file" "$file: 501 lines"
done

clean_tree
touch "$root/src/y.c" "$root/src/y.py"
seq 501 | tee "$root/src/x.def" >"$root/docs/x.tsv"
expects 'a long table, and files that are empty' ''

python() { # SIZE: a function, its head in two lines
    printf 'def far(a,\n        b):\n'
    seq -f '    x = %g' "$1"
}
for file in src/x.py tools/y; do
    clean_tree
    { echo '#!/usr/bin/env python3' && python 60; } >"$root/$file"
    expects "a function of Python within its limit: $file" ''

    { echo '#!/usr/bin/env python3' && python 61; } >"$root/$file"
    expects "a long function of Python: $file" "$file:2: far has 61 lines"
done

printf 'class C:\n%s\n' "$(python 61 | sed 's/^/    /')" >"$root/src/x.py"
expects 'a long method' 'src/x.py:2: far has 61 lines'

shell() { # SIZE: functions of one line, then one of SIZE
    printf 'one() { echo 1; } # WHAT (one)\ntwo() ( echo 2 )\nfar() { # WHAT (is far)\n    if x; then\n'
    lines $(($1 - 2))
    printf '    fi\n}\n'
}
for file in tests/x.sh tools/y; do
    clean_tree
    { echo '#!/usr/bin/env bash' && shell 60; } >"$root/$file"
    expects "a function of shell within its limit: $file" ''

    { echo '#!/usr/bin/env bash' && shell 61; } >"$root/$file"
    expects "a long function of shell: $file" "$file:4: far has 61 lines"
done

planted_end
