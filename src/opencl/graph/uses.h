/* Which memory objects each kind uses, and how: kind::uses. */
#ifndef OPENCL_GRAPH_USES_H
#define OPENCL_GRAPH_USES_H

#include "opencl/graph/kinds.h"

#define USES(name)                                                                                           \
    bool uses_##name(const struct opencl_command *command, const struct translate_kernel *about,             \
                     mem_visit *visit, void *data)

USES(launch);
USES(native);
USES(migrate);
USES(map);
USES(unmap);
USES(read);      /* bytes of a */
USES(write);     /* bytes of a */
USES(copy);      /* bytes of a, to b */
USES(read_box);  /* somewhere in a */
USES(write_box); /* somewhere in a; the rest of a stays valid */
USES(copy_box);  /* somewhere in a, to somewhere in b */

#endif
