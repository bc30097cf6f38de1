/*
 * batond's server with four GPUs and clients that a test plays, on a clock that only the test
 * moves.
 */
#ifndef TESTS_DAEMON_LANES_SCENE_H
#define TESTS_DAEMON_LANES_SCENE_H

#include "daemon/peer.h"
#include "daemon/server.h"

#define CLIENTS 4
#define NOW     (100 * NSEC_PER_SEC)

/* Leases of every client: three engines of each of four GPUs. */
#define EXECUTION(gpu)   ((gpu)*ENGINE_N + ENGINE_EXECUTION)
#define COPY_OUT_OF(gpu) ((gpu)*ENGINE_N + ENGINE_COPY_OUT)
#define COPY_IN_OF(gpu)  ((gpu)*ENGINE_N + ENGINE_COPY_IN)

struct lanes_scene {
    struct server *server;
    struct page *pages[CLIENTS];
    uint32_t epochs[CLIENTS], placed[CLIENTS]; /* placed: leases of the last answer */
    bool answered[CLIENTS];
    unsigned tokens, overruns, excesses;
    int ended; /* peer; -1: none */
    baton_nsec now;
    unsigned token_gpu[CLIENTS];
};

extern struct lanes_scene scene;

/* The same with profile `priority`. */
void scene_start_priority(enum overrun_mode overrun);
/* Four GPUs in clusters of so many, profile `gpusync`. */
void scene_start(unsigned gpu_cluster, unsigned tokens_per_gpu, enum overrun_mode overrun);
/* A client that does not count its engine time: its holds are charged. */
void scene_connect_client(unsigned peer, const char *name, unsigned period_ms);
/* One that counts (HELLO_USED). */
void scene_connect_counting(unsigned peer, const char *name, unsigned period_ms);
/* The driver has worked for the client for so long; a job that begins counts from 0. */
void scene_use(unsigned peer, baton_nsec length);
void scene_say(unsigned peer, struct frame frame);
void scene_hear(void);
void scene_wait_until(baton_nsec at);
void scene_job(unsigned peer, uint32_t what, baton_nsec deadline_at);
void scene_ask(unsigned peer, unsigned lease);
bool scene_has(unsigned peer, unsigned lease);
bool scene_is_asked_to_yield(unsigned peer, unsigned lease);
/* At the end of a piece; again: more pieces follow. */
void scene_give(unsigned peer, unsigned lease, bool again);
/* At the end of a command: the client keeps the lease if it may (lease_word_keep()). */
void scene_end(unsigned peer, unsigned lease);
/* The job may use these GPUs (bit q: GPU q), or all. */
void scene_place_on(unsigned peer, uint32_t gpus);
void scene_place(unsigned peer);
/* The GPU that the answer names; -1: no answer yet. */
int scene_placed(unsigned peer);

#endif
