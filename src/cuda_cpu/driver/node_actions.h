/*
 * Actions from the descriptions that graph calls use; NULL and a code where the description is
 * wrong.
 */
#ifndef CUDA_CPU_DRIVER_NODE_ACTIONS_H
#define CUDA_CPU_DRIVER_NODE_ACTIONS_H

#include "cuda_cpu/driver/action.h"

/*
 * has_kernel: the description is of the second version and may name a kernel instead of a function.
 */
struct action *node_kernel_action(const CUDA_KERNEL_NODE_PARAMS *about, bool has_kernel, CUresult *ret_code);
struct action *node_copy_action(const CUDA_MEMCPY3D *about, CUresult *ret_code);
struct action *node_set_action(const CUDA_MEMSET_NODE_PARAMS *about, CUresult *ret_code);
struct action *node_host_action(const CUDA_HOST_NODE_PARAMS *about, CUresult *ret_code);
/* kind: ACTION_RECORD or ACTION_AWAIT. */
struct action *node_event_action(enum action_kind kind, CUevent event, CUresult *ret_code);

#endif
