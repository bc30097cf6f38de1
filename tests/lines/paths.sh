#!/usr/bin/env bash
# tools/check-paths finds what is planted: documents and comments that name files, functions,
# headings or documents that do not exist, and documents that README.md does not lead to; and it
# passes the same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-paths"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{docs,src/{a/deep,b},include/baton,tests/a}
    printf '# Top\n[a](docs/guide.md#two-words-f) [b](#top) [c](https://x.y/z.md) [d](ARCHITECTURE.md)\n' \
        >"$root/README.md"
    printf '# Guide\n## Two words: `f()`\n**Bold words.** Text. [up](../README.md)\n' >"$root/docs/guide.md"
    printf '`src/a/`, `src/a/x.c: f` and `other/y.c`\n' >"$root/ARCHITECTURE.md"
    printf '`src/none.c` was there once: docs/none.md\n' >"$root/CHANGELOG.md"
    printf '/* y.h, b/z.h, baton/p.h, tests/a/t.c, a/t.c */\nint f(void); char h[] = "none.h";\n' \
        >"$root/src/a/x.c"
    printf '# docs/guide.md, "Two words"; docs/guide.md,\n# "bold words"\n' >"$root/src/b/script"
    printf '/*\n * Of all: x.c, deep/y.h, *_z.h, <CL/cl.h>, src/a/x.c.\n */\n' >"$root/src/a/deep/y.h"
    touch "$root"/{src/b/z.h,include/baton/p.h,tests/a/t.c}
}

clean_tree
expects 'files that exist, and names of others' ''

clean_tree
echo '`src/a/y.c`' >>"$root/README.md"
expects 'a document with a path that does not exist' 'README.md: no such path: src/a/y.c'

clean_tree
echo '`src/a/x.c: g`' >>"$root/docs/guide.md"
expects 'a document with a function that does not exist' 'docs/guide.md: no g in src/a/x.c'

clean_tree
printf '`src/a/x.c:\ng`\n' >>"$root/docs/guide.md"
expects 'the same, on two lines' 'docs/guide.md: no g in src/a/x.c'

clean_tree
echo '[x](docs/none.md)' >>"$root/README.md"
expects 'a link to a file that does not exist' 'README.md: no such file: docs/none.md'

clean_tree
echo '[x](guide.md#three-words)' >>"$root/docs/guide.md"
expects 'a link to a heading that does not exist' 'docs/guide.md: no such heading: guide.md#three-words'

clean_tree
printf '([x](guide.md),\n"three words")\n' >>"$root/docs/guide.md"
expects 'a link with words that do not exist' 'docs/guide.md: docs/guide.md does not have "three words"'

clean_tree
echo '# Alone' >"$root/docs/alone.md"
expects 'a document that no other leads to' 'docs/alone.md: README.md does not lead here'

clean_tree
echo '# as docs/old.md says' >>"$root/src/b/script"
expects 'a script with a document that does not exist' 'src/b/script:3: no such document: docs/old.md'

clean_tree
printf '/*\n * (docs/guide.md,\n * "Three words")\n */\n' >>"$root/src/a/x.c"
expects 'a comment with a heading that does not exist' \
    'src/a/x.c:4: docs/guide.md does not have "Three words"'

clean_tree
printf '/*\n * See none.h.\n */\n' >>"$root/src/a/x.c"
expects 'a comment with a file that does not exist' 'src/a/x.c:4: no such file: none.h'

clean_tree
echo '/* a/y.h */' >>"$root/src/a/x.c"
expects 'a comment with a file that is in another folder' 'src/a/x.c:3: no such file: a/y.h'

clean_tree
echo '/* x.c */' >"$root/src/b/z.h"
expects 'a comment with a file of another module' 'src/b/z.h:1: no such file: x.c'

clean_tree
echo '/* q.h */' >"$root/include/baton/p.h"
expects 'a comment of a public header' 'include/baton/p.h:1: no such file: q.h'

planted_end
