/*
 * A launch on several devices, from the plan to the merged result. A split lives until its results
 * are at home, or no command can need them. All functions are called with the spread lock held
 * unless they say otherwise.
 */
#ifndef OPENCL_SPREAD_SPLIT_H
#define OPENCL_SPREAD_SPLIT_H

#include "opencl/graph/kernel_launch.h"
#include "spread/boundary.h"
#include "opencl/spread/buffer.h"
#include "opencl/spread/further_device.h"
#include "opencl/spread/spread_placement.h"
#include "spread/shares.h"
#include "opencl/spread/twins.h"

enum { SPLIT_BUFFERS = 64 };

/* One device's groups. */
struct split_share {
    struct device_task task;
    struct split *split;
    struct further_device *device; /* NULL: home */
    uint32_t begin, end;           /* as planned; when all have run, the groups that it took */
    /* the groups that it may take, [least, most): it has their data */
    uint32_t least, most;
    bool paired;                   /* shares groups with a neighbour at a boundary */
    cl_mem *mems;                  /* owned array of references, by argument; NULL: not memory */
    cl_sampler *samplers;          /* the same for samplers */
    struct opencl_command command; /* the command to which its pieces report */
    cl_int code;
    baton_nsec began_at, ended_at;
};

/* A range of a buffer that the launch may write. */
struct split_output {
    struct spread_buffer *buffer;
    struct range range;
    bool reads;
    bool own_reads; /* no two groups reach the same element */
    /* each work-item writes only the element of its own id, of this many bytes; 0: unknown */
    uint32_t element;
    size_t granule;                         /* of the merge */
    uint16_t *writers;                      /* owned, while merging */
    bool merged;                            /* the shadow is the result */
    const unsigned char *parts[SHARES_MAX]; /* mapped results of each share, while gathering */
};

struct split {
    struct command_callback dropped; /* frees it */
    struct kernel_record *kernel;    /* a reference */
    const struct translate_kernel *about;
    struct spread_kernel *known;
    struct arg_value *args; /* owned */
    cl_uint n_args;
    /* owned array of references by argument, for a repetition at home */
    cl_mem *kept;
    struct mem_record **roots; /* owned array of references by argument */
    struct opencl_cut cut;
    struct split_share shares[SHARES_MAX]; /* home first */
    unsigned n_shares;
    bool away;                                  /* home has no share of its own */
    struct boundary boundaries[SHARES_MAX / 2]; /* of shares 2 i and 2 i + 1 */
    struct split_output outputs[SPLIT_BUFFERS];
    unsigned n_outputs;
    struct {
        struct spread_buffer *buffer;
        struct range range;
    } inputs[SPLIT_BUFFERS];
    unsigned n_inputs;
    bool running;
    bool decided;      /* decide_split() chose the split and waits for the report */
    bool ran, useless; /* all shares were over; their results could not be used */
    /* home has some results of others, so nothing can be repeated there */
    bool collecting;
    int64_t spent;     /* ns so far: copies, run, merge */
    int64_t in_shares; /* the part of it from the first share's begin to the last share's end */
};

/*
 * Should and can this launch be split? Answers a plan, with every device ready and the shares set;
 * NULL: it runs at home. about: the translator's description of the kernel. measured: only if
 * measurements promise a gain.
 */
struct split *split_plan(const struct opencl_command *command, const struct translate_kernel *about,
                         const struct placement_team *team, bool measured);

/*
 * Copies what the devices need and runs the shares, with the spread lock released meanwhile. Leaves
 * partial results, or merges them at once if the program could read them without a call. *ret_done
 * false: nothing has run. Takes over the split.
 */
cl_int split_run(struct split *split, struct device_engine *engine, struct opencl_command *command,
                 bool *ret_done);

/*
 * The whole launch on another device: a plan whose only share is there. Its buffers move there and
 * stay until a command needs them elsewhere. If that device fails and home still has the data, the
 * launch runs at home; else the driver's error.
 */
struct split *split_plan_on(const struct opencl_command *command, const struct translate_kernel *about,
                            struct further_device *device);
cl_int split_run_on(struct split *split, struct device_engine *engine, struct opencl_command *command,
                    bool *ret_done);

/*
 * Merges at home and frees the split. If the results of the others disagree or a device failed,
 * repeats their groups at home. queue: one of the program's. A driver's code. If home did not take
 * the results, the split still exists, and the next call tries again. If the groups could not be
 * repeated either, spread_buffer::lost is set.
 */
cl_int split_resolve(struct split *split, struct queue_record *queue);

/* The results are not needed: frees, once the lock is released. */
void split_drop(struct split *split);

/*
 * Makes sure that no results of others are pending in the buffer. Merges those written there and,
 * before a write, those computed from it.
 */
cl_int split_settle(struct spread_buffer *buffer, bool for_writing, struct queue_record *queue);

bool split_is_settled(const struct spread_buffer *buffer, bool for_writing);

/* --- its steps --- */

/*
 * Merges everything pending in its buffers, and gives every device what its share needs. A driver's
 * code.
 */
cl_int split_supply(struct split *split, struct queue_record *queue);
/* The same for a launch whose only share is on another device. */
cl_int split_supply_alone(struct split *split, struct queue_record *queue);

/*
 * Without the spread lock: runs all shares at once; each holds its own engine only. Answers home's
 * code; the other shares have their own.
 */
cl_int split_run_shares(struct split *split, struct device_engine *engine, struct opencl_command *command);
void split_learn_rates(struct split *split);

/* Runs groups [begin, end) at home, after everything else. */
cl_int split_at_home(struct split *split, struct queue_record *queue, uint32_t begin, uint32_t end);

/* The bytes of an output that the work-items of groups [begin, end) write, if known. */
struct range split_part(const struct split *split, const struct split_output *output, uint32_t begin,
                        uint32_t end);
/* The bytes of an output that the groups of a share write, if known. */
struct range split_own_part(const struct split *split, const struct split_output *output,
                            const struct split_share *share);

#endif
