/*
 * A small world for the scheduling core: every interleaving of a few clients' moves, breadth first,
 * each state once. What the core decides is mirrored here from its decisions alone, and the rules
 * are checked on the mirror; only the token queues, which no decision shows, are read from the
 * core's own state.
 */
#ifndef TESTS_SCHED_WORLD_H
#define TESTS_SCHED_WORLD_H

#include "sched/internal.h"

#define WORLD_MAX_CLIENTS 6
#define WORLD_MAX_MENU    8

/* What a client may ask for in one request. */
struct world_request {
    struct engine_set engines;
    bool one_of, batch;
};

struct world {
    struct sched_config config;
    /*
     * Client i has priority 90 - 10 i, one job at a time, and lives in CPU cluster cpu_cluster[i].
     */
    unsigned clients;
    unsigned cpu_cluster[WORLD_MAX_CLIENTS];
    struct world_request menu[WORLD_MAX_MENU];
    unsigned n_menu;
    bool deaths;       /* clients may die at any point, and withdraw token requests */
    bool blocks;       /* engine 0 may be blocked and unblocked */
    bool equals;       /* all have priority 50, and time passes: a turn at a time, while holders run */
    bool bounded;      /* equals: no job waits for longer than the bound of Q6 */
    size_t max_states; /* stop there; 0: only when every reachable state has been seen */
};

struct world_report {
    size_t states, moves;
    unsigned depth; /* of the states reached: every one is this many moves or fewer from the start */
    bool complete;  /* every reachable state was seen, so the interleavings may be of any length */
    size_t grants, yields, turns, tokens, donations, parked, effs, groups_waited;
    unsigned most_waited; /* equals: turns */
    char broken[200];     /* the rule that was broken and how; empty: none */
};

/* Names of engines need a core: makes one just for that. */
struct sched_core *world_core(const struct world *world);

void world_explore(const struct world *world, struct world_report *ret_report);

/* The mirror of one client's only lane. */
struct mirror_lane {
    enum engine_state state;
    struct world_request request; /* waits for, or holds (one engine once one_of is granted) */
    uint64_t order;               /* of the request, for FIFO */
    bool asked_to_yield;
    bool turned;     /* told that an equal waits (Q6) */
    bool ran;        /* equals: a turn, in this hold */
    unsigned waited; /* equals: turns, since it asked */
    bool has_token, wants_token;
    unsigned gpu;
    bool granted_now, token_now;
};

struct mirror {
    struct mirror_lane lanes[WORLD_MAX_CLIENTS];
    bool released[WORLD_MAX_CLIENTS], dead[WORLD_MAX_CLIENTS], joined[WORLD_MAX_CLIENTS],
        suspended[WORLD_MAX_CLIENTS];
    bool ended[WORLD_MAX_CLIENTS]; /* CK-OMLP: done, the end deferred */
    unsigned as[WORLD_MAX_CLIENTS];
    unsigned blocked; /* engine 0 */
    bool any_death;
    uint64_t next_order;
};

/* Checks everything; writes the broken rule to text (size bytes) and returns false. */
bool world_check(const struct world *world, const struct sched_core *core, const struct mirror *mirror,
                 char *text, size_t size);

#endif
