/* What `baton simulate` draws while it runs: a trace for Perfetto, and a timeline as SVG. */
#ifndef CLI_SIMULATE_PICTURES_H
#define CLI_SIMULATE_PICTURES_H

#include <stdbool.h>

#include "model/task_set.h"
#include "sim/sim.h"

struct pictures;

/* trace and gantt say which are wanted. 0 or -ENOMEM. */
int pictures_new(const struct task_set *set, const struct sched_core *core, bool trace, bool gantt,
                 struct pictures **ret_pictures);
void pictures_free(struct pictures *pictures);

const struct sim_observer *pictures_observer(struct pictures *pictures);

/*
 * After the run: each writes its file completely or not at all (0 or -errno). gantt may stop early
 * at *ret_cut_at, else -1.
 */
int pictures_write_trace(struct pictures *pictures, const char *path);
int pictures_write_gantt(struct pictures *pictures, const char *path, baton_nsec end_at,
                         baton_nsec *ret_cut_at);

#endif
