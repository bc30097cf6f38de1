/* The served half: clients, and a machine that runs CPU steps by level. */
#ifndef TESTS_MIRROR_MACHINE_H
#define TESTS_MIRROR_MACHINE_H

#include "daemon/server.h"
#include "harness.h"
#include "mirror_private.h"
#include "wire/page.h"

#define FIRST_PID 1000

#define MAX_TASKS 16

struct client {
    const struct sim_task *model;
    struct page *page;
    struct random_state random;
    baton_nsec next_release_at, release_at;
    size_t step;
    bool active, deferred, dead, lost;
    uint32_t epoch, placings;
    unsigned lease; /* of the engine that it asked for or holds */
    bool holds;
    const struct cut *cut;
    size_t piece, n_pieces;
    unsigned token_gpu, home;
    int placed; /* GPU that the server answered with; -1: none */
    /* On the CPUs. */
    bool ready;
    unsigned level, cpu, last_cpu;
    baton_nsec left, running_at;
};

struct machine_world {
    struct mirror *mirror;
    const struct sim *model;
    const struct sim_run *run;
    struct server *server;
    struct timers timers;
    struct client clients[MAX_TASKS];
    size_t n;
    baton_nsec now;
    struct sched_decision todo[4096];
    size_t first, n_todo;
    bool busy, tokens, moved;
};

void begin_step(struct machine_world *world, size_t id);
int page_new(void *user, unsigned peer, struct page **ret_page);
void page_free(void *user, unsigned peer, struct page *page);
void wake(void *user, lease_word *word);
void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority);
void report(void *user, const struct server_report *what);
int machine(void *user, struct machine *ret_machine);
/* The lowest level is that of donors that must not run: here they stand still (mirror.h). */
int order(void *user, pid_t pid, const struct core_set *cores, unsigned level);
void decided(void *user, const struct sched_decision *decision);
void settle(struct machine_world *world);
void cpu_leaves(struct machine_world *world, size_t id);
void step_done(struct machine_world *world, size_t id);
/* After the server was told something: levels, then decisions take effect. */
void react(struct machine_world *world);
void say(struct machine_world *world, size_t id, struct frame frame);
void place(struct machine_world *world, size_t id, unsigned home);

#endif
