/* What the files of a world share. */
#ifndef TESTS_WORLD_PRIVATE_H
#define TESTS_WORLD_PRIVATE_H

#include "client/lease.h"
#include "daemon/peer.h"
#include "world.h"

#define SETTLE (60 * NSEC_PER_MS)

void fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool chance(struct world *world, unsigned in);
const char *device_of(unsigned lease);
unsigned engine_of(unsigned lease);
size_t channel_put(struct channel *channel, const uint8_t *bytes, size_t n);
/* Some of what waits, at least one byte. */
size_t some(struct world *world, size_t pending);
struct page *make_page(struct world *world);
int host_page_new(void *user, unsigned peer, struct page **ret_page);
void host_page_free(void *user, unsigned peer, struct page *page);
void client_wake(void *user, lease_word *word);
/* Has everything that this client said reached the server? */
bool heard(const struct actor *actor);
/*
 * The server grants: not beside work that began while passing through but has been declared since.
 */
void server_wake(void *user, lease_word *word);
void host_boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority);
void host_report(void *user, const struct server_report *report);
int host_plan(void *user, const char *file, const char *text, size_t size);
int host_reload(void *user, char *ret_text, size_t size);
struct page *client_page(void *user, size_t size);
void begin(struct world *world, unsigned who, unsigned lease);
void answer_question(struct world *world);
/*
 * `baton run --task` in the actor's process: asks on a connection of its own, which ends when it
 * becomes the program.
 */
void reserve(struct world *world, unsigned who);
void heed_plan(struct world *world, struct actor *actor);
/* All clients have gone: no task has members left. */
void check_tasks(struct world *world);
void start_daemon(struct world *world, bool settle);
/*
 * What died before a restart and has not drained cannot be known to the next daemon: no process is
 * left to declare it.
 */
void kill_daemon(struct world *world);
/* The server's end of a connection closes. */
void server_sees_end(struct world *world, unsigned slot);
void tick_daemon(struct world *world);
void start_actor(struct world *world, unsigned who);
void connect_actor(struct world *world, unsigned who);
void kill_actor(struct world *world, unsigned who);
/* The GPU has drained what a killed process left, and the process is gone. */
void drain_remains(struct world *world);
/*
 * Ends of connections that the server has not seen yet: of killed clients, and of those that have
 * reconnected.
 */
void see_an_end(struct world *world);
void client_sees_end(struct world *world, unsigned who);
void carry_up(struct world *world, unsigned who);
void carry_down(struct world *world, unsigned who);
void act(struct world *world, unsigned who);
void step(struct world *world);

#endif
