/*
 * A program that asks the driver API questions whose answers are documented, and prints one line
 * for each:
 *
 *     streams: a query of an idle stream | CUDA_SUCCESS | CUDA_SUCCESS
 *
 * group, case, documented answer, given answer, and WRONG where they differ. The exit status is 1
 * then. It uses libcuda.so.1 alone, so that the same binary runs on any driver and under any layer.
 * Cases that only the CPU device can answer (its script of failures, its order between processes)
 * are in groups of their own.
 */
#ifndef CUDA_CONFORMANCE_H
#define CUDA_CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_abi/driver_calls.h"

/* --- what each group uses --- */

/* Notes one case. */
void answer(const char *what, CUresult documented, CUresult given);
/* The documentation says that this holds. */
void holds(const char *what, bool does);
/* A step that is not a case: the program ends if it fails. */
void must(CUresult code, const char *step);
#define MUST(call) must((call), #call)

/* A fresh context of device 0, current, with the module of kernels.ptx. */
CUcontext context_open(void);
void context_close(CUcontext context);
CUfunction kernel(const char *name); /* of the current context's module */
CUmodule module_now(void);
const char *kernels_path(void);
char *kernels_text(void); /* the caller frees it */

/* One thread of a kernel. */
CUresult launch_one(CUfunction function, CUstream stream, void **parameters);

CUdeviceptr device_words(size_t n); /* zeroed */
void *pinned(size_t bytes);         /* zeroed, mapped */
int word_at(CUdeviceptr address);
CUstream stream_new(unsigned flags);

/* A stream that stands still until the gate is opened; uses no engine. */
struct gate {
    volatile uint32_t *flag;
};
struct gate gate_close(CUstream stream);
void gate_open(struct gate gate);

/*
 * Runs this program again with the arguments and the setting NAME=VALUE (NULL: none); its exit
 * status, -signal.
 */
int run_child(const char *role, const char *argument, const char *setting);

/* --- groups --- */

struct group {
    const char *name;
    void (*run)(void);
    bool alone; /* of this device without a layer, and long: runs only when --only names it */
};
extern const struct group groups[];
extern const unsigned n_groups;
/* What a child of run_child does: its exit status. */
int child_main(const char *role, const char *argument);
void group_begins(const char *name);

void streams_group(void);
void events_group(void);
void callbacks_group(void);
void threads_group(void);
void capture_group(void);
void capture_errors_group(void);
void graphs_group(void);
void graph_changes_group(void);
void graph_memory_group(void);
void arguments_group(void);
void handles_group(void);
void contexts_group(void);
void launches_group(void);
void faults_group(void);
void memory_group(void);
void pointers_group(void);
void copies_group(void);
void arrays_group(void);
void pools_group(void);
void modules_group(void);
void images_group(void);
void names_group(void);
void values_group(void);
void devices_group(void);
void batches_group(void);
void virtual_group(void);
void processes_group(void);
void ipc_group(void);
void failures_group(void);
void visible_group(void);
void hostile_group(void);
void unsupported_group(void);

int processes_child(const char *role, const char *argument);
int failures_child(const char *argument);
int ipc_child(const char *role, const char *path);
int unsupported_child(void);
int visible_child(const char *expected);
int hostile_child(const char *role, const char *argument); /* large, cycle, compiler */

#endif
