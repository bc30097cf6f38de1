/*
 * What generated code and the library that runs it know of each other. This text is a header of the
 * library, and also the beginning of every generated unit: it includes nothing but <stdint.h>. A
 * change here changes DEVICE_ABI, so that cached code of another shape is not used.
 */
#ifndef CUDA_CPU_DEVICE_ABI_H
#define CUDA_CPU_DEVICE_ABI_H

#include <stdint.h>

#define DEVICE_ABI 3

struct device_thread;

enum device_fault { DEVICE_TRAP = 1, DEVICE_BAD_CALL, DEVICE_BAD_OBJECT };
enum device_barrier { DEVICE_SYNC, DEVICE_ARRIVE, DEVICE_POPC, DEVICE_AND, DEVICE_OR };
enum device_warp {
    DEVICE_WARP_SYNC,
    DEVICE_SHUFFLE, /* a: value, b: source lane or distance, c: clamp and segment */
    DEVICE_VOTE,    /* a: predicate; the answer is the ballot */
    DEVICE_MATCH,   /* a: value; the answer is the mask of lanes with the same */
    DEVICE_REDUX,   /* a: value */
    DEVICE_ACTIVE,  /* b: which instruction */
    DEVICE_ELECT,
};

/* A warp operation. Each lane that arrives fills in its own; the last lane to arrive computes. */
struct device_collective {
    uint32_t operation;
    /*
     * Of a shuffle: 0 up, 1 down, 2 bfly, 3 idx. Of a reduction: 0 add, 1 min, 2 max, 3 and, 4 or,
     * 5 xor, 6 signed min, 7 signed max.
     */
    uint32_t variant;
    uint32_t mask;
    uint64_t a;
    uint32_t b, c;
    uint64_t result;
    uint32_t flag; /* shuffle: the source lane is within the segment; match: all lanes agree */
};

struct device_texture_call {
    uint64_t object;
    uint32_t kind;     /* 0 tex, 1 tex.level, 2 tex.grad, 3 tld4 */
    uint32_t geometry; /* 0 1d, 1 2d, 2 3d, 3 a1d, 4 a2d, 5 cube, 6 acube */
    uint32_t has_integer_coordinates;
    uint32_t component;      /* of tld4 */
    uint32_t coordinates[4]; /* bits; a layer comes first */
    float level;
    float dx[4], dy[4];
    uint32_t texel[4];
    uint32_t line;
};

struct device_surface_call {
    uint64_t object;
    uint32_t kind;      /* 0 load, 1 store, 2 reduce */
    uint32_t geometry;  /* as above */
    uint32_t bytes;     /* of an element */
    uint32_t n;         /* elements */
    uint32_t outside;   /* 0 trap, 1 clamp, 2 zero */
    uint32_t operation; /* of a reduction: 0 add, 1 min, 2 max, 3 and, 4 or */
    uint32_t is_signed;
    uint32_t coordinates[4];
    uint64_t data[4];
    uint32_t line;
};

struct device_calls {
    /* fault, exit and assertion do not return. */
    /*
     * An access outside of the space, or a misaligned one. Returns if the access is allowed all the
     * same.
     */
    void (*bad_access)(struct device_thread *t, uint64_t address, uint64_t size, uint32_t line);
    void (*fault)(struct device_thread *t, uint32_t fault, uint32_t line);
    void (*exit)(struct device_thread *t); /* `exit` from within a function */
    uint32_t (*barrier)(struct device_thread *t, uint32_t kind, uint32_t id, uint32_t count,
                        uint32_t predicate);
    void (*collective)(struct device_thread *t, struct device_collective *c);
    void (*yield)(struct device_thread *t);
    void (*sleep)(struct device_thread *t, uint32_t nanoseconds);
    uint32_t (*print)(struct device_thread *t, uint64_t format, uint64_t arguments);
    void (*assertion)(struct device_thread *t, uint64_t message, uint64_t file, uint32_t line,
                      uint64_t function);
    uint64_t (*allocate)(struct device_thread *t, uint64_t size);
    void (*release)(struct device_thread *t, uint64_t address);
    void (*texture)(struct device_thread *t, struct device_texture_call *call);
    void (*surface)(struct device_thread *t, struct device_surface_call *call);
    uint32_t (*query)(struct device_thread *t, uint64_t object, uint32_t what, uint32_t is_surface,
                      uint32_t line);
    /* Faults unless the address is a function of this image with this shape. */
    void (*check_function)(struct device_thread *t, uint64_t address, uint64_t shape, uint32_t line);
    uint64_t (*clock)(struct device_thread *t);
    uint64_t (*global_time)(struct device_thread *t);
};

/* One thread of the grid, as generated code sees it. */
struct device_thread {
    /* What waiting needs comes first: it shares a cache line with the fibre. */
    const struct device_calls *calls;
    void *worker;
    uint32_t lane, warp;
    uint64_t space, space_size; /* addresses that need no further check; the size is a power of two */
    unsigned char *shared;
    uint64_t shared_size;    /* a multiple of 128 */
    uint64_t dynamic_shared; /* where the extern .shared arrays begin */
    uint64_t dynamic_shared_size;
    unsigned char *variables; /* of the image: globals and constants */
    uint64_t constants, constants_end;
    uint64_t stack_low, stack_high;
    unsigned char *frames; /* of all threads of the block, where the entry has frames */
    uint64_t frames_bytes;
    unsigned char *parameters;
    uint64_t parameter_bytes;
    uint64_t grid_id;
    uint64_t workspace; /* of a cooperative launch; 0 otherwise */
    uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
    uint32_t warps;
    uint32_t index; /* in the block */
    uint32_t spins;
    uint32_t carry;
};

struct device_entry {
    /*
     * One of the two. `thread` runs one thread; `block` runs all threads of t->ctaid, one after the
     * other: none of them waits, or all wait together and have frames.
     */
    void (*thread)(struct device_thread *t, unsigned char *parameters);
    void (*block)(struct device_thread *t, unsigned char *parameters);
    uint64_t frame_bytes; /* of a thread */
};

/* The threads of a block between two barriers. */
struct barrier_stage {
    uint32_t arrived, trues;           /* at the barrier that ends this stage */
    uint32_t last_arrived, last_trues; /* at the barrier that began this stage */
};
#define STAGE_ENDED UINT32_MAX

struct device_function {
    uint64_t address, shape;
};

/* The one symbol that a generated unit exports: baton_device_code. */
struct device_code {
    uint32_t abi, n_entries, n_functions, reserved;
    const struct device_entry *entries;
    const struct device_function *functions; /* those whose address is taken, in the unit's order */
};

#endif
