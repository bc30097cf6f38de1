#!/usr/bin/env bash
# tools/check-keys finds what is planted: keys of JSON and of files that no reference has, and keys
# in a reference that no source has; and it passes the same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-keys"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{docs,src/a}
    cat >"$root/src/a/print.c" <<'END'
    pack = json_pack("{s:s, s:o?, s:{s:f,"
                     " s:n}}", "name", text(a, "x, y"), "list", f ? g() : NULL, "times", "p50", 1.0, "none");
    /* json_object_set_new(object, "history", 0); */
    json_object_set_new(object, "more", json_string("value"));
    printf("{\"port\": %d, \"%s\": 1}", port, name);
END
    printf 'static const char *const keys[] = {"from",\n "to", NULL};\n' >"$root/src/a/read.c"
    printf 'static const char *const keys[] = {[A] = "value"};\n' >>"$root/src/a/read.c"
    printf 'ROW(A, "tabled", "help")\nROW("second", 1)\n' >"$root/src/a/table.def"
    printf 'static const char *const keys[] = {\n#include "a/table.def"\n};\n' >>"$root/src/a/read.c"
    cat >"$root/docs/a.md" <<'END'
# Reference
`other`
<!-- keys: src/a/print.c -->
| key | meaning |
|---|---|
| `name`, `list` | text |
| `times` | of `jobs`: `p50`, `none` |
| `p50`, `none`, `more`, `port` | numbers |
<!-- keys: src/a/read.c -->
```yaml
- {from: MEM0, to: GPU0}
```
<!-- keys: src/a/table.def -->
| `tabled`, `second` | |
<!-- keys end -->
| `unknown` | here |
END
}

clean_tree
expects 'a reference that has every key' ''

clean_tree
echo 'json_pack("{s:i}", "fresh", 1);' >>"$root/src/a/print.c"
expects 'a key that is printed and nowhere described' 'docs/a.md: no key fresh of src/a/print.c'

clean_tree
sed -i 's/"from"/"from", "by"/' "$root/src/a/read.c"
expects 'a key that is read and nowhere described' 'docs/a.md: no key by of src/a/read.c'

clean_tree
echo 'ROW(B, "third")' >>"$root/src/a/table.def"
expects 'a key of a table that is nowhere described' 'docs/a.md: no key third of src/a/table.def'

clean_tree
sed -i 's/`name`, /`name`, `gone`, /' "$root/docs/a.md"
expects 'a key that no source has' 'docs/a.md:6: no source of this section has the key gone'

clean_tree
cp "$root/src/a/print.c" "$root/src/a/second.c"
expects 'a source that no reference names' 'src/a/second.c: no reference describes its keys'

clean_tree
sed -i 's/print.c -->/print.c src\/a\/none.c -->/' "$root/docs/a.md"
expects 'a reference of a source that does not exist' 'docs/a.md:3: no such file: src/a/none.c'

planted_end
