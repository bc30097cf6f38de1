/*
 * Is the system that the plan's analysis assumes the one that runs? Compares every field of the plan with what this daemon enforces
 * and with the machine, and keeps each difference. While there is one, no bound of the plan is claimed: interference and
 * blocking make every bound rest on the whole plan.
 *
 * The comparison is made anew when the plan or the devices change, once a second while a plan is in force, and before a claim is reported
 * (unless the last look is less than CLAIMS_FRESH old). A core that goes and comes back between two looks is not noticed.
 */
#ifndef DAEMON_CLAIMS_H
#define DAEMON_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "daemon/cores.h"

#define CLAIMS_MAX   64 /* differences that are kept; more are as bad as these */
#define CLAIMS_FRESH (10 * NSEC_PER_MS)
#define CLAIMS_EVERY NSEC_PER_SEC

struct difference {
    char field[33];   /* key of the plan or of batond's configuration */
    char task[65];    /* whose field; "": the plan's */
    char planned[65]; /* what the bounds rest on */
    char found[97];   /* what there is */
};

struct claims {
    struct difference differences[CLAIMS_MAX];
    unsigned n;
    bool machine_known;
    struct machine machine;
    baton_nsec looked_at; /* at the machine; 0: never */
    baton_nsec next_at;   /* when a look is due; NSEC_MAX: no plan is in force */
    uint64_t reported;    /* fingerprint of the differences that were reported last; 0: none were */
};

struct server;
struct peer;

/* Looks and compares; reports each difference when any of them is new, and the end of the last one. */
void claims_check(struct server *server);
/* The same, unless that was done within CLAIMS_FRESH. */
void claims_refresh(struct server *server);
/* The look that is due once a second; arms the next one. */
void claims_tick(struct server *server);

/*
 * The client was granted the execution engine of this device. PoCL makes the kernels of a process anew for a wider launch, and a piece that needs this waits for
 * pieces of the process on its other devices, with its engine held (opencl/graph/widening.h). No analysis counts that wait, so no bound is claimed while a task's process
 * has computed on two such devices, or the plan gives a task several of them.
 */
void claims_computes(struct server *server, struct peer *peer, unsigned device);

/* The cores that programs run on: the partition's, else all that are allowed; those of them that are online. Valid if machine_known. */
struct core_set claims_program_cores(const struct server *server);

/* Are this device's "GPUs" cores of this machine (PoCL)? */
bool claims_is_this_cpu(const char *device);

#endif
