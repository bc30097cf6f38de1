/*
 * batond's server and several clients in one process, over links that cut, delay and split what
 * they carry, and a clock that only the test moves. One seed is one history: kills of clients and
 * of the daemon, lost connections, partial writes, reconnects, at any step. The world keeps the
 * truth (which client really runs on which engine) and checks it at every begin.
 */
#ifndef TESTS_DAEMON_WORLD_H
#define TESTS_DAEMON_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "client/protocol.h"
#include "daemon/server.h"

#define WORLD_CLIENTS 5
#define WORLD_DEVICES 2
#define WORLD_LEASES  (WORLD_DEVICES * 2) /* execution and copy-in of each device */
#define WORLD_SLOTS   64
#define WORLD_REMAINS 32
#define LINK_SIZE     (8 * 1024)

struct channel {
    uint8_t bytes[LINK_SIZE];
    size_t begin, end;
    size_t room; /* "socket buffer": refuses more than this */
};

struct link {
    bool open;        /* the client has a connection, as far as it knows */
    bool server_gone; /* the server's end is closed; the client will notice */
    unsigned peer;    /* slot at the server */
    struct channel up, down;
    struct page *page; /* made for this connection */
};

enum use { USE_NOTHING, USE_ASKED, USE_RUNNING };

struct work {
    enum use use;
    bool scheduled;      /* began under a daemon's rules, not while passing through */
    uint32_t generation; /* of the daemon under which it began */
    unsigned pieces;
    bool nested; /* a command within the actor's group is in it */
    bool flying; /* in flight while the program does something else ... */
    bool told;   /* ... which has been called back to end it */
    uint64_t asked_at_step;
};

struct actor {
    bool alive;
    pid_t pid;
    struct protocol protocol;
    struct page *private_page;
    struct link link;
    struct work work[WORLD_LEASES];
    uint32_t group; /* leases that it has or wants as a batch */
    bool group_runs;
    unsigned group_pieces;
    uint64_t served;
    struct frame_place placing; /* the latest question about a GPU */
};

/* What a killed process left on a GPU, until the process is gone and the GPU drained. */
struct remains {
    bool there;
    pid_t pid;
    bool running[WORLD_LEASES];
};

/*
 * A slot of the server whose connection has ended without the server having seen it, or that
 * drains.
 */
struct slot {
    bool used;
    bool unseen; /* the connection is still open at the server's side */
    pid_t pid;
};

/* How often the interesting things happened: the generator must reach them. */
struct world_seen {
    uint64_t begins, fast_begins, yields, client_kills, daemon_kills, cuts, declared, leases_ended,
        overlaps_passing, groups, nested, outlived, group_kills, placed, plans, efforts, followed, flights,
        flights_kept;
};

struct world {
    struct random_state random;
    bool verbose;
    bool calm;
    baton_nsec now_at;
    uint64_t step;
    struct server *server;
    struct config config;
    uint32_t generation;
    bool planning;         /* the daemon waits for a planner */
    baton_nsec restart_at; /* when a dead daemon comes back */
    struct actor actors[WORLD_CLIENTS];
    struct remains remains[WORLD_REMAINS];
    struct slot slots[WORLD_SLOTS];
    struct page *pages[4096]; /* all ever made; freed at the end */
    size_t n_pages;
    pid_t next_pid;
    struct world_seen seen;
    char failure[256]; /* "": all invariants held so far */
};

/* Runs one history; false with world->failure set when an invariant broke. */
bool world_run(struct world *world, uint64_t seed, enum sched_profile_id profile, unsigned steps);
void world_done(struct world *world);

#endif
