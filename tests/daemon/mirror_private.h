/* What the files of the mirror share. */
#ifndef TESTS_DAEMON_MIRROR_PRIVATE_H
#define TESTS_DAEMON_MIRROR_PRIVATE_H

#include "base/random.h"
#include "mirror.h"
#include "sim/sim_internal.h"

#define MIRROR_HORIZON (120 * NSEC_PER_MS)

/* Fills text, profile, policy, lock, deaths and ties. */
void mirror_script(struct mirror *mirror, struct random_state *random);

void mirror_add(struct mirror_stream *stream, struct mirror_record record);
void mirror_decided(struct mirror_stream *stream, const struct sched_decision *decision, baton_nsec at);

/* The same script through the server. model: what the simulator made of it; only read. */
void mirror_serve(struct mirror *mirror, const struct sim *model, const struct sim_run *run);

#endif
