/*
 * Does the running system match the assumptions of the plan's analysis? Compares every field of the
 * plan with what this daemon enforces and with the machine, and keeps each difference. While there
 * is a difference, no bound of the plan is claimed: through interference and blocking, every bound
 * rests on the whole plan.
 *
 * The comparison is repeated when the plan or the devices change, and once a second while a plan is
 * in force. It is also repeated before a claim is reported, unless the last comparison is less than
 * CLAIMS_FRESH old. A core that goes offline and comes back between two comparisons is not noticed.
 */
#ifndef DAEMON_CLAIMS_H
#define DAEMON_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "daemon/cores.h"

#define CLAIMS_MAX   64 /* differences that are kept; further ones are dropped */
#define CLAIMS_FRESH (10 * NSEC_PER_MS)
#define CLAIMS_EVERY NSEC_PER_SEC

struct difference {
    char field[33];   /* key of the plan or of batond's configuration */
    char task[65];    /* the task of the field; "": the field is the plan's own */
    char planned[65]; /* the value that the bounds rest on */
    char found[97];   /* the value here */
};

struct claims {
    struct difference differences[CLAIMS_MAX];
    struct difference beyond; /* takes the differences beyond CLAIMS_MAX; never read */
    unsigned n;
    bool machine_known;
    struct machine machine;
    /*
     * Of the limits on real-time programs (rt_limit.h): the longest period, 0: none; a fingerprint.
     */
    baton_nsec rt_period;
    uint64_t rt_limits;
    baton_nsec looked_at; /* when the machine was last read; 0: never */
    baton_nsec next_at;   /* when the next comparison is due; NSEC_MAX: no plan, no partition */
    uint64_t reported;    /* fingerprint of the differences in the last report; 0: none */
    /* Claims that are lost until an idle instant (daemon/regain.h). */
    bool looked;            /* the comparison was repeated since the rules were last checked */
    bool lost, none;        /* some tasks, all tasks of the plan have no claim */
    bool unconfirmed;       /* claims have returned since the clock was last read ... */
    baton_nsec regained_at; /* ... and it showed this */
    /*
     * Under such a limit: an idle instant since which all rules hold and no job was late; 0: none.
     */
    baton_nsec calm_from;
};

struct server;
struct peer;

/*
 * Reads the machine and compares. Reports all differences when one is new, and reports when the
 * last one is gone.
 */
void claims_check(struct server *server);
/* One more difference; part of the comparison. task "": of the plan or of the machine. */
void claims_add(struct server *server, const char *task, const char *field, const char *in_plan,
                const char *here);
/* The same, unless it was done within CLAIMS_FRESH. */
void claims_refresh(struct server *server);
/* The comparison that is due once a second; arms the next one. */
void claims_tick(struct server *server);

/*
 * The client was granted the execution engine of this device. A driver with QUIRK_WIDER_ALONE
 * compiles the kernels of a process again for a wider launch. A piece that needs this holds its
 * engine while it waits for the process's pieces on other devices (opencl/quirks/widening.h). No
 * analysis counts that wait. So no bound is claimed while a task's process has computed on two such
 * devices, or the plan gives a task several of them.
 */
void claims_computes(struct server *server, struct peer *peer, unsigned device);

/*
 * The online cores that programs run on: the partition's, else all that are allowed. Valid if
 * machine_known.
 */
struct core_set claims_program_cores(const struct server *server);

/* Is the device a core of this machine (QUIRK_ON_CORES, QUIRK_THREADS_ON_CORES)? */
bool claims_is_this_cpu(const char *device);

#endif
