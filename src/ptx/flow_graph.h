/*
 * Where control may go within a routine: for each statement, whether it is on a cycle. A loop that
 * reads memory which other threads write may wait for them. Everything else ends by itself.
 */
#ifndef PTX_GRAPH_H
#define PTX_GRAPH_H

#include "ptx/ptx_module.h"

/* Does the statement send control elsewhere than to the next one, at least if its guard holds? */
bool ptx_diverts(const struct ptx_statement *statement);

/*
 * The successors of statement i: at most one by falling through, and its targets. Calls
 * visit(context, successor) for each.
 */
void ptx_successors(const struct ptx_routine *routine, size_t i,
                    void (*visit)(void *context, size_t successor), void *context);

/*
 * ret_component[i] is the number of the strongly connected component of statement i; ret_cyclic[i]:
 * the component is a cycle. Both have room for routine->n. 0 or -ENOMEM.
 */
int ptx_components(const struct ptx_routine *routine, uint32_t ret_component[], bool ret_cyclic[]);

#endif
