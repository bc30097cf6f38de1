/*
 * The client's half of the conversation with batond: bytes in, bytes and lease words out. Pure: no
 * socket, no clock, no thread, no lock. client/session.c runs it over a real socket under the
 * session's lock. tests/daemon/test_histories.c runs many instances against the server in one
 * process.
 *
 *     OFFLINE --connected--> GREETING --WELCOME--> ONLINE --lost--> OFFLINE
 *
 * While offline or greeting, every lease is free: its word lives in a private page, and the client
 * acts as the daemon on it. When a lease moves between pages, the old word is called in as by a
 * daemon. After that no thread can begin or end on it without a message. A lease that is BUSY then
 * stays BUSY in the new page. After a welcome it is declared to the daemon, which grants nothing on
 * that engine until the lease is released. After a loss the old word is given up when the work has
 * drained, because a daemon that still lives reserves the engine until then.
 *
 * The two fast paths, lease_word_begin() and lease_word_keep() on *lease->word, may run at any time
 * in other threads; every function here allows for that. A word that has been replaced stays
 * flagged, so both fast paths fail on it.
 */
#ifndef CLIENT_PROTOCOL_H
#define CLIENT_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/device_name.h"
#include "wire/frame.h"
#include "wire/outbox.h"
#include "wire/page.h"

enum protocol_state { PROTOCOL_OFFLINE, PROTOCOL_GREETING, PROTOCOL_ONLINE };

struct protocol_lease {
    lease_word *_Atomic word; /* the current word; replaced ones stay mapped */
    lease_word *ghost; /* of a lost connection: BUSY until the work that began there has drained; or NULL */
    struct page_lease *_Atomic shared; /* the daemon's, where `tell` is written; NULL: private */
    _Atomic uint32_t tell;             /* PAGE_TELL_*, copied to every new page */
    char device[DEVICE_NAME_SIZE];
    uint32_t engine;      /* enum engine_kind */
    uint32_t epoch;       /* of the latest request */
    bool asked;           /* a request is under way: the next BUSY with this epoch is its grant */
    bool declared;        /* the hold began before this daemon knew of it */
    bool answered;        /* the daemon has said whether it manages the engine */
    int refused;          /* it does not: -ENODEV or -ENOSPC (lease_refusal()); 0: it does */
    _Atomic bool grouped; /* held by a batch; changes under the session's lock */
    bool nested;          /* ... and a command of the batch, from this process, uses it */
};

enum protocol_event_kind {
    PROTOCOL_YIELD,    /* lease */
    PROTOCOL_ATTACHED, /* lease: the daemon has said whether it manages the engine */
    PROTOCOL_PLANNED,
    PROTOCOL_WELCOMED,
    PROTOCOL_PLACED,
    PROTOCOL_TOLD_PRIORITY, /* told_priority: a person sets this program's priority */
    PROTOCOL_TOLD_RESET,    /* a person resets the worst values */
    PROTOCOL_ANSWER,        /* frame: the answer to a query (monitors) */
};

struct protocol_event {
    enum protocol_event_kind kind;
    unsigned lease;
};

/* What the protocol needs from its caller. */
struct protocol_host {
    void *user;
    /*
     * The page that came with the welcome, mapped. NULL if there is none or its size differs. Never
     * unmapped.
     */
    struct page *(*page)(void *user, size_t size);
    /* Wakes the threads that may sleep on this word. */
    void (*wake)(void *user, lease_word *word);
};

#define PROTOCOL_MAX_EVENTS 256

struct protocol {
    enum protocol_state state;
    struct protocol_host host;
    struct frame_hello hello;
    uint32_t client, generation;
    uint32_t flags;            /* WELCOME_* */
    bool broken;               /* the outbox overflowed: the connection must be dropped */
    struct page *_Atomic page; /* the daemon's; NULL before the first welcome */
    struct page *private_page; /* borrowed */
    struct frame_plan plan;
    struct frame_placed placed; /* the latest answer to PLACE */
    uint32_t told_priority;     /* the latest one that the daemon passed on */
    struct frame answer;        /* the latest answer to a query */
    struct protocol_lease leases[PAGE_LEASES];
    unsigned n_leases;
    struct outbox in, out;
    struct protocol_event events[PROTOCOL_MAX_EVENTS]; /* ring, taken by protocol_event() */
    unsigned events_begin, events_n;
};

/*
 * private_page: zeroed, owned by the caller, outlives the protocol. Sets hello->version and
 * hello->generation. hello->key tells the sessions of one process apart.
 */
void protocol_init(struct protocol *protocol, const struct frame_hello *hello, struct page *private_page,
                   const struct protocol_host *host);

/* The connection is established: sends HELLO. */
void protocol_connected(struct protocol *protocol);

/* Bytes arrived. 0, or -EPROTO: drop the connection. */
int protocol_receive(struct protocol *protocol, const uint8_t *bytes, size_t n);

/* The connection is lost: every lease becomes free, and every request is granted. */
void protocol_lost(struct protocol *protocol);

/* The next event, or false. */
bool protocol_event(struct protocol *protocol, struct protocol_event *ret_event);

/* The lease for an engine; the same index when asked again. -ENOSPC: no more leases. */
int protocol_attach(struct protocol *protocol, const char *device, uint32_t engine, unsigned *ret_index);

/* Answers as in client/lease.h: LEASE_BEGUN, LEASE_ASK, LEASE_TAKEN. */
int protocol_request(struct protocol *protocol, unsigned index);
int protocol_yield(struct protocol *protocol, unsigned index);
void protocol_end(struct protocol *protocol, unsigned index);

/*
 * Groups: bit i of leases is lease i. LEASE_BEGUN: all are held, because no daemon manages them.
 * LEASE_ASK: one request is under way. LEASE_TAKEN: this process has another hold of or request for
 * one of them; nothing has changed, but that hold is flagged to end soon.
 */
int protocol_group_request(struct protocol *protocol, uint32_t leases);

/*
 * Has the whole group been granted? If not, *ret_waiting is a member that has not. Once granted,
 * commands can nest in its leases.
 */
bool protocol_group_granted(struct protocol *protocol, uint32_t leases, unsigned *ret_waiting);

/*
 * Ends the group. A lease that a command still uses becomes that command's own; the answer is the
 * set of these leases.
 */
uint32_t protocol_group_end(struct protocol *protocol, uint32_t leases);

/*
 * A command within the group begins and ends. False: another command uses the lease, or the lease
 * is not in a group.
 */
bool protocol_nest(struct protocol *protocol, unsigned index);
bool protocol_unnest(struct protocol *protocol, unsigned index);

/*
 * Requests (or stops requesting) a frame when these happen, PAGE_TELL_*. May be called without the
 * lock.
 */
void protocol_tell(struct protocol *protocol, unsigned index, uint32_t what, bool on);

/* Has the request been granted? Takes the grant: true only once. */
bool protocol_granted(struct protocol *protocol, unsigned index);

/* Queues a frame for the daemon if online. Whatever matters is repeated after the next welcome. */
void protocol_send(struct protocol *protocol, const struct frame *frame);

#endif
