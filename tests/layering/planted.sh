#!/usr/bin/env bash
# tools/check-layering sees what is planted: an include beyond the table, circles of folders and of
# headers, an API's name where none may be; and it passes the same tree without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-layering"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/tools "$root"/src/{base,cuda_cpu,engine,front/graph,front/enqueue,front/program}
    printf '%s\n' 'base:' 'cuda_cpu: base' 'engine: base' 'front: base engine' 'front/enqueue: graph' \
        'front/graph:' 'front/program:' >"$root/tools/layering.txt"
    echo '#include "base/list.h"' >"$root/src/engine/engine.h"
    echo 'struct list;' >"$root/src/base/list.h"
    echo '#include "engine/engine.h"' >"$root/src/front/front.h"
    # a folder and its sub-folder may know each other
    echo '#include "front/front.h"' >"$root/src/front/graph/graph.c"
    echo '#include "front/graph/graph.h"' >"$root/src/front/front.c"
    echo 'struct graph;' >"$root/src/front/graph/graph.h"
    echo '#include "front/graph/graph.h"' >"$root/src/front/enqueue/submit.c"
}

clean_tree
expects 'a tree within its rules passes' ''

clean_tree
echo '#include "front/front.h"' >"$root/src/engine/worker.c"
expects 'an include beyond the table' 'engine/worker.c:1: src/engine may not use src/front'

clean_tree
echo '#include "engine/engine.h"' >"$root/src/cuda_cpu/fibre.c"
expects 'a folder name with an underscore is a folder' \
    'cuda_cpu/fibre.c:1: src/cuda_cpu may not use src/engine'

clean_tree
echo '#include "front/program/program.h"' >"$root/src/front/graph/launch.c"
echo 'struct program;' >"$root/src/front/program/program.h"
expects 'an include between sub-folders beyond the table' 'src/front/graph may not use src/front/program'

clean_tree
sed -i 's/^front\/.*//' "$root/tools/layering.txt" # no lines for sub-folders: only circles are forbidden
echo '#include "front/enqueue/submit.h"' >"$root/src/front/graph/event.c"
echo 'struct submit;' >"$root/src/front/enqueue/submit.h"
expects 'a circle of two sub-folders' 'folders include each other: .*front/(graph|enqueue)'

clean_tree
sed -i 's/^front\/.*//' "$root/tools/layering.txt"
echo '#include "front/program/program.h"' >"$root/src/front/graph/launch.c"
echo '#include "front/enqueue/submit.h"' >"$root/src/front/program/program.h"
echo 'struct submit;' >"$root/src/front/enqueue/submit.h"
expects 'a circle of three sub-folders' 'folders include each other:( front/[a-z]+){3}'

clean_tree
echo '#include "engine/worker.h"' >>"$root/src/engine/engine.h"
echo '#include "engine/pipe.h"' >"$root/src/engine/worker.h"
echo '#include "engine/engine.h"' >"$root/src/engine/pipe.h"
expects 'a circle of headers' 'headers include each other: engine/'

clean_tree
echo 'int of(cl_event event);' >"$root/src/engine/mark.h"
expects 'an API is named' 'src/engine names a GPU API'

planted_end
