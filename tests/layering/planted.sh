#!/usr/bin/env bash
# tools/check-layering sees what is planted: an include beyond the table in whatever form, circles
# of folders and of headers, an API's name or header where none may be; and it passes the same tree
# without them.
# shellcheck source=tests/planted.sh
source "$BATON_SOURCE/tests/planted.sh" "$BATON_SOURCE/tools/check-layering"

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/tools "$root"/src/{base,cuda_cpu,engine,front/graph,front/enqueue,front/program}
    printf '%s\n' 'base:' 'cuda_cpu: base' 'engine: base' 'front: base engine' 'front/enqueue: graph' \
        'front/graph:' 'front/program:' '<CL/: front/graph' '<cuda:' >"$root/tools/layering.txt"
    echo '#include "base/list.h"' >"$root/src/engine/engine.h"
    echo 'struct list;' >"$root/src/base/list.h"
    echo '#include "engine/engine.h"' >"$root/src/front/front.h"
    # a folder and its sub-folder may know each other
    echo '#include "front/front.h"' >"$root/src/front/graph/graph.c"
    echo '#include "front/graph/graph.h"' >"$root/src/front/front.c"
    echo 'struct graph;' >"$root/src/front/graph/graph.h"
    printf '#include %s\n' '"front/graph/graph.h"' '"version.h"' '<stdio.h>' '"baton/job.h"' \
        >"$root/src/front/enqueue/submit.c"
    mkdir "$root/src/front/graph/deep"
    printf '#include <CL/cl.h> /* a comment */\n' |
        tee "$root/src/front/graph/event.c" >"$root/src/front/graph/deep/event.c"
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
echo '#include "engine/worker.h"' >"$root/src/engine/flight.c"
expects 'an engine that knows its worker' 'src/engine/flight is below graph and worker'

clean_tree
echo 'int of(cl_event event);' >"$root/src/engine/mark.h"
expects 'an API is named' 'src/engine names a GPU API'

for line in '#include "../front/front.h"' '#include "./../front/front.h"' \
    '#include "base/../front/front.h"'; do
    clean_tree
    echo "$line" >"$root/src/engine/worker.c"
    expects "a path that goes up: $line" 'engine/worker.c:1: ".*front.h" is not named by its path'
done

clean_tree
echo '#include "engine.h"' >"$root/src/engine/worker.c"
expects 'a file of the own folder' 'engine/worker.c:1: "engine.h" is not named by its path'

clean_tree
echo '#include FRONT' >"$root/src/engine/worker.c"
expects 'a macro' 'engine/worker.c:1: an include that names no file'

for line in '#  include "front/front.h"' '  # include "front/front.h"' '#include "front/front.h" // why' \
    '#include_next "front/front.h"' '#include "front/entries.inc"' '#include "front/Front-1.h"' \
    '#include "front/front.c"'; do
    clean_tree
    echo "$line" >"$root/src/engine/worker.c"
    expects "another form: $line" 'engine/worker.c:1: src/engine may not use src/front'
done

for kind in inc def S; do
    clean_tree
    echo '#include "front/front.h"' >"$root/src/engine/rows.$kind"
    expects "an include of a .$kind file" "engine/rows.$kind:1: src/engine may not use src/front"
done

for file in base/x.h cuda_cpu/x.inc front/x.c front/enqueue/x.c; do
    clean_tree
    echo '#include <CL/cl_icd.h>' >"$root/src/$file"
    expects "a header of others in $file" "$file:1: src/${file%/*} may not include <CL/cl_icd.h>"
done

clean_tree
echo '# include <cuda.h>' >"$root/src/front/graph/x.c"
expects 'a header that no folder may include' 'src/front/graph may not include <cuda.h>'

planted_end
