/*
 * The real batond on a temporary socket, and clients in processes of their own that do one step at
 * a time.
 */
#ifndef TESTS_DAEMON_FIXTURE_H
#define TESTS_DAEMON_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "client/lease.h"

/* For what takes milliseconds: only a machine that is busy beyond all measure needs more. */
#define FIXTURE_LIMIT (120 * NSEC_PER_SEC)

struct fixture {
    char folder[64];
    char socket[96];
    char config[96];
    pid_t daemon;
};

/* config: YAML text; extra: NULL-ended further arguments, or NULL. Returns when it listens. */
void fixture_start(struct fixture *fixture, const char *config, const char *const extra[]);
/* Starts another daemon on the same socket. */
void fixture_restart(struct fixture *fixture, const char *const extra[]);
void fixture_kill_daemon(struct fixture *fixture, int signal_number);
void fixture_done(struct fixture *fixture);

/*
 * Settings of a client that is scheduled there: opening its session fails if the daemon does not
 * welcome it.
 */
struct settings fixture_settings(const struct fixture *fixture, const char *name, int priority);

/*
 * Opens a session as soon as a daemon welcomes it: none may listen yet, or it may not know yet that
 * clients before this one are gone. As session_open().
 */
int fixture_session(const struct settings *settings, struct session **ret_session);

/* Waits until condition(argument) holds; fails the test with `what` after FIXTURE_LIMIT. */
void fixture_wait(bool (*condition)(void *argument), void *argument, const char *what);

/*
 * Returns when all threads of all these processes sleep at one instant: they have done what they
 * were woken for, and nothing is on its way between them. A thread that spins never sleeps, and
 * neither does one that is ready to run and has no processor, so this does not depend on speed. The
 * answer is how often the threads were switched away so far: if a later call has the same answer,
 * none of them has run in between.
 */
unsigned long long fixture_quiet(const pid_t pids[], unsigned n);
void fixture_rests(pid_t pid); /* the same of one process */

/*
 * When the earliest timer of the process goes off, in nanoseconds from now; NSEC_MAX: none is set.
 */
baton_nsec fixture_timer(pid_t pid);

/* Has the process children? */
bool fixture_has_children(pid_t pid);

/* ---- clients as processes ---- */

/* What a puppet does when told a letter; it answers with one letter when it is done. */
enum puppet_order {
    PUPPET_BEGIN = 'b',     /* try_begin, else request and wait: 'B' when held */
    PUPPET_ASK = 'a',       /* request without waiting: 'A' */
    PUPPET_WAIT = 'w',      /* wait for what was asked: 'W' */
    PUPPET_END = 'e',       /* 'E' */
    PUPPET_YIELD = 'y',     /* yields if asked to, without waiting: 'Y'; 'N' if it was not asked */
    PUPPET_ONLINE = 'o',    /* 'O' when connected, 'F' when passing through */
    PUPPET_FREE = 't',      /* try_begin only: 'B' or 'N' */
    PUPPET_JOB_BEGIN = 'j', /* 'J' */
    PUPPET_JOB_END = 'k',   /* 'K' */
    PUPPET_RAN = 'r',       /* records that it ran for the last millisecond: 'R' */
    PUPPET_REGISTER = 'g',  /* lets its main thread be boosted: 'G' */
    PUPPET_EXEC = 'x',      /* becomes another program that sleeps, without an answer */
    PUPPET_QUIT = 'q',      /* closes the session and exits */
};

struct puppet {
    pid_t pid;
    int orders, answers;
};

/* Opens a session and the execution lease of `device`. */
struct puppet puppet_start(const struct fixture *fixture, const char *name, int priority, const char *device);
struct puppet puppet_start_on(const struct fixture *fixture, const char *name, int priority,
                              const char *device, enum engine_kind engine);
/* Says something, without waiting for the answer. */
void puppet_say(struct puppet *puppet, enum puppet_order order);
/* The answer, or 0 if none came within the limit. */
char puppet_hear(struct puppet *puppet, baton_nsec limit);
/* The daemon has heard what the puppet said before and has answered, and the puppet still waits. */
void puppet_silent(const struct fixture *fixture, struct puppet *puppet);
/* Says and hears; fails the test unless the answer is the expected one. */
void puppet_do(struct puppet *puppet, enum puppet_order order, char expected);
void puppet_kill(struct puppet *puppet);
void puppet_quit(struct puppet *puppet);

/*
 * Returns when the daemon has heard all that was said before. What two clients said at nearly the
 * same time it may hear in either order: where a test depends on the order, this belongs in
 * between.
 */
void fixture_heard(const struct fixture *fixture);

#endif
