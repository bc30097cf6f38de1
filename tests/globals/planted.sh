#!/usr/bin/env bash
# tools/check-globals sees what is planted: mutable objects that are not declared, at file scope, in
# a function, of a thread and of assembler; a library with two states; a line that declares nothing.
# And it passes the same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" check_configured

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{tools,build,src/{front/deep,tool}}
    printf '%s\n' '# a comment' 'state front src/front/state.c front' \
        'thread front src/front/state.c front_thread a reason of several words' \
        'state front/deep src/front/deep/deep.c deep' >"$root/tools/globals.txt"
    printf 'struct { int n; } front = {1};\n_Thread_local int front_thread;\n' >"$root/src/front/state.c"
    echo 'static int deep; int *deep_at(void) { return &deep; }' >"$root/src/front/deep/deep.c"
    # Constants, with and without addresses in them, are not mutable.
    printf '%s\n' 'static const int table[] = {1, 2};' 'static const char *const names[] = {"a", "b"};' \
        'const int *table_at(void) { return table; }' 'const char *const *names_at(void) { return names; }' \
        >"$root/src/tool/tool.c"
}

# The build as meson would write it: the commands, and a ninja file that makes the objects.
configure() {
    local source object separator=
    printf 'rule cc\n  command = cc -O2 -fPIC -c $in -o $out\n' >"$root/build/build.ninja"
    {
        echo '['
        while IFS= read -r source; do
            object=${source//\//_}.o
            printf '%s{"directory": "%s", "file": "../%s", "output": "%s"}\n' "$separator" "$root/build" \
                "$source" "$object"
            printf 'build %s: cc ../%s\n' "$object" "$source" >>"$root/build/build.ninja"
            separator=,
        done < <(cd "$root" && find src -name '*.[cS]')
        echo ']'
    } >"$root/build/compile_commands.json"
}

check_configured() { # ROOT
    configure
    "$BATON_SOURCE/tools/check-globals" "$1/build" "$1"
}

clean_tree
expects 'declared objects and constants pass' ''

clean_tree
echo 'int other;' >>"$root/src/front/state.c"
expects 'a second object' '^src/front/state.c: other is mutable and not declared'

clean_tree
echo 'static int other[4]; int *other_at(void) { return other; }' >>"$root/src/tool/tool.c"
expects 'an object of a file' '^src/tool/tool.c: other is mutable and not declared'

clean_tree
echo 'int next(void) { static int count = 1; return count++; }' >>"$root/src/tool/tool.c"
expects 'an object of a function' '^src/tool/tool.c: count is mutable and not declared'

clean_tree
echo 'static _Thread_local int own; int *own_at(void) { return &own; }' >>"$root/src/tool/tool.c"
expects 'an object of a thread' '^src/tool/tool.c: own is mutable and not declared'

clean_tree
echo 'static const char *words[] = {"a", "b"}; const char **words_at(void) { return words; }' \
    >>"$root/src/tool/tool.c"
expects 'a table that lacks a const' '^src/tool/tool.c: words is mutable and not declared'

assembler() { # SECTION DIRECTIVE...: an object and code in src/front/stubs.S
    printf '%s\n' ".section $1" "${@:2}" 'other:' '.zero 8' '.section .rodata' 'constant:' '.zero 8' \
        '.text' 'code:' '.zero 8' '.section .note.GNU-stack, "", %progbits' >"$root/src/front/stubs.S"
}
for section in '.data.rel, "aw"' '.data' '.bss, "aw", %nobits'; do
    clean_tree
    assembler "$section" '.type other, %object'
    expects "an object of assembler in $section" '^src/front/stubs.S: other is mutable and not declared'
done

clean_tree
assembler .data
expects 'an object of assembler without a type' '^src/front/stubs.S: other is mutable and not declared'

assembler '.data.rel.ro, "aw"' '.type other, %object'
expects 'a constant of assembler' ''

clean_tree
assembler .data '.type other, %object'
sed -i 's,^state front .*,state front src/front/stubs.S other,' "$root/tools/globals.txt"
echo 'int nothing(void) { return 0; }' >"$root/src/front/state.c"
sed -i '/^thread/d' "$root/tools/globals.txt"
expects 'a declared object of assembler' ''

clean_tree
echo 'int second;' >>"$root/src/front/state.c"
echo 'state front src/front/state.c second' >>"$root/tools/globals.txt"
expects 'two states of one library' 'globals.txt:5: front has a state already, in line 2'

clean_tree
echo '_Thread_local int deep_thread;' >>"$root/src/front/deep/deep.c"
echo 'thread front/deep src/front/deep/deep.c deep_thread' >>"$root/tools/globals.txt"
expects 'an object of a thread without a reason' 'globals.txt:5: expected'

clean_tree
sed -i 's/^_Thread_local //' "$root/src/front/state.c"
expects 'a state that is declared as one of a thread' \
    'state.c: front_thread is declared as thread, which it is not'

clean_tree
sed -i '/front_thread/d' "$root/src/front/state.c"
expects 'a declared object that does not exist' 'globals.txt:3: src/front/state.c has no mutable front_thread'

clean_tree
sed -i 's,^state front/deep,state tool,' "$root/tools/globals.txt"
expects "a state in another library's source" 'globals.txt:4: src/front/deep/deep.c is not a source of tool'

planted_end
