/*
 * A random sequence of OpenCL commands whose result is known. Every command is modelled in plain C
 * at the moment it is enqueued. Queues, events, markers and barriers order the commands so that the
 * device may leave nothing but that result. One world belongs to one thread; worlds share the
 * context and the programs.
 */
#ifndef RANDOM_WORLD_H
#define RANDOM_WORLD_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

enum {
    ROOTS = 5,
    IMAGES = 2,
    VIEWS = 14,
    QUEUES = 4,
    WAITS = 24,
    ACCESSES = 512,
    GATES = 4,
    MAPS = 4,
    PENDING = 128,
    TOUCHES = 4,
    FLYING = 64,
    WIDTH = 64 /* of images, one byte per channel, four channels */
};

/* What all worlds share. */
struct stage {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program programs[2];
    size_t align;  /* of sub-buffers, bytes */
    bool gates;    /* may commands wait for user events? (PoCL's basic device cannot without Baton) */
    bool talks;    /* say each command */
    bool plain;    /* the driver has no compiler: plain_source only */
    bool natives;  /* it runs functions of the host */
    bool stays;    /* nothing migrates to the host: FAULT_MIGRATE_TO_HOST_HANGS */
    bool misnames; /* FAULT_IMAGE_EVENTS_MISNAMED */
    bool relay;    /* two threads, each with queues of its own, take turns in one world */
    unsigned n_steps;
    uint64_t seed;
};

/* A buffer or an image, with what it must hold. */
struct root {
    cl_mem mem;
    bool image;
    size_t size;          /* bytes */
    unsigned char *model; /* owned */
    void *host;           /* owned: of CL_MEM_USE_HOST_PTR */
};

/* A handle: the root itself, or a part of it. */
struct view {
    cl_mem mem; /* NULL: none */
    unsigned root;
    size_t begin, size; /* in the root */
};

/* Bytes of a view that a command reads or writes. */
struct touch {
    const struct view *view;
    size_t begin, end; /* in the root */
    bool writes;
};

struct access {
    struct touch touch;
    struct view view; /* as it was */
    unsigned queue;
    cl_event event; /* a reference; NULL: the command was given none */
};

struct active_map {
    void *pointer; /* NULL: unused */
    struct view view;
    size_t begin, size; /* in the root; of an image everything */
    size_t row;         /* of an image, bytes */
    cl_map_flags flags;
    cl_event event;
    unsigned char *expected; /* owned */
};

/* A launch that may not be over. */
struct flying {
    const char *name;
    size_t local, width; /* local 0: not said */
    bool moved;          /* has an offset */
};

struct world {
    struct stage *stage;
    struct random_state random;
    unsigned number, steps, failures;
    struct root roots[ROOTS + IMAGES];
    struct view views[VIEWS];
    struct {
        cl_command_queue handle;
        bool in_order, profiles;
    } queues[QUEUES];
    struct access accesses[ACCESSES];
    unsigned n_accesses;
    struct {
        cl_event event;
        unsigned ttl;
    } gates[GATES];
    struct active_map maps[MAPS];
    struct {
        unsigned char *bytes, *expected; /* owned; expected NULL: a source that must stay until then */
        size_t size;
    } pending[PENDING];
    unsigned n_pending;
    struct {
        cl_event event;
        cl_command_type type;
        unsigned queue;
    } seen[PENDING];
    unsigned n_seen;
    struct flying flying[FLYING]; /* since all was last finished */
    unsigned n_flying;
    atomic_uint called; /* callbacks */
    unsigned asked;
    uint64_t hash;        /* of what was read */
    pthread_mutex_t lock; /* guards all of it while two threads take turns */
    pthread_cond_t turned;
    unsigned turn; /* whose it is: 0 or 1 */
};

/* One command under construction. */
struct step {
    struct world *world;
    unsigned queue;
    cl_command_queue handle;
    struct touch touches[TOUCHES];
    unsigned n_touches;
    cl_event waits[WAITS];
    cl_uint n;
    cl_event event, *want; /* want: &event, or NULL */
    bool blocking;
};

#define STEP_WAITS(step) (step)->n, (step)->n ? (step)->waits : NULL, (step)->want

/* world.c */
unsigned below(struct world *world, unsigned n);
bool chance(struct world *world, unsigned percent);
void fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void must(struct world *world, cl_int code, const char *what);
unsigned char *random_bytes(struct world *world, size_t size);
unsigned char *bytes_of(struct world *world, const struct view *view); /* the model's */
const struct view *any_view(struct world *world, size_t least);
struct touch touch_part(struct world *world, const struct view *view, size_t unit, bool writes);
/*
 * From the first buffer to the last release; a struct world that has its stage, number, hash and
 * random state.
 */
void *run_world(void *world);

/*
 * order.c: chooses a queue, orders the command after everything it must follow. Set touches and
 * blocking before.
 */
void step_begin(struct step *step);
void step_end(struct step *step, cl_int code, cl_command_type type, const char *what);
/*
 * Before a launch. PoCL 3.1 keeps machine code for several widths and offsets of one kernel and
 * local size. But it counts its users as if there were one only (pocl_release_dlhandle_cache), and
 * aborts when two of them run at once. So this launch does not run while the others do.
 */
void keep_apart(struct world *world, const struct flying *fresh);
/* The commands of a queue that were given no event get that of a marker. */
void mark(struct world *world, unsigned queue);
/* User events that hold commands back: opens those whose time has come; all of them. */
void age_gates(struct world *world);
void open_gates(struct world *world);

/*
 * check.c: bytes that a command reads (expected: what they must become) or writes (NULL) and that
 * must stay until it is over; owned.
 */
void keep_until_done(struct world *world, unsigned char *bytes, unsigned char *expected, size_t size);
/* Everything is waited for and compared. */
void finish_all(struct world *world);
void check_roots(struct world *world);

/* kernels.c */
extern const char *const kernel_sources[2], *const plain_source; /* sources.c */
void launch_random(struct world *world);

/* transfers.c */
void transfer_random(struct world *world);
void map_random(struct world *world);
void unmap_one(struct world *world, struct active_map *map);

#endif
