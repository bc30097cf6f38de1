/*
 * A launch on several devices, from the plan to the merged result. It lives until its results are
 * at home, or no command can need them any more. All with the spread lock held unless said
 * otherwise.
 */
#ifndef OPENCL_SPREAD_SPLIT_H
#define OPENCL_SPREAD_SPLIT_H

#include "opencl/graph/kernel_launch.h"
#include "spread/border.h"
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
    uint32_t begin, end;           /* as planned; when all have run, as it came */
    /* the groups that may come to it, [least, most): its data is there for them */
    uint32_t least, most;
    bool paired;                   /* takes groups at a border */
    cl_mem *mems;                  /* owned array of references, by argument; NULL: not memory */
    cl_sampler *samplers;          /* the same for samplers */
    struct opencl_command command; /* what the pieces report to */
    cl_int code;
    baton_nsec began_at, ended_at;
};

/* A range of a buffer that the launch may write. */
struct split_output {
    struct spread_buffer *buffer;
    struct range range;
    bool reads;
    bool own_reads; /* no two groups reach the same element */
    /* each work-item writes only the element of its own id, so many bytes; 0: not known */
    uint32_t element;
    size_t granule;                         /* of the merge */
    uint16_t *writers;                      /* owned, while merging */
    bool merged;                            /* the shadow is the result */
    const unsigned char *parts[SHARES_MAX]; /* mapped, while gathering */
};

struct split {
    struct kernel_record *kernel; /* a reference */
    const struct translate_kernel *about;
    struct spread_kernel *known;
    struct arg_value *args; /* owned */
    cl_uint n_args;
    /* owned array of references by argument: alive for a repetition at home */
    cl_mem *kept;
    struct mem_record **roots; /* owned array of references by argument */
    struct opencl_cut cut;
    struct split_share shares[SHARES_MAX]; /* home first */
    unsigned n_shares;
    bool away;                             /* home has no share of its own */
    struct border borders[SHARES_MAX / 2]; /* of shares 2 i and 2 i + 1 */
    struct split_output outputs[SPLIT_BUFFERS];
    unsigned n_outputs;
    struct {
        struct spread_buffer *buffer;
        struct range range;
    } inputs[SPLIT_BUFFERS];
    unsigned n_inputs;
    bool running;
    bool decided;      /* decide_split() said so, and waits for the report */
    bool ran, useless; /* all shares were over; their results could not be used */
    /* home has been given results of others: nothing can be repeated there any more */
    bool collecting;
    int64_t spent;     /* ns so far: copies, run, merge */
    int64_t in_shares; /* of it, from the first share's beginning to the last one's end */
};

/*
 * Should and can this launch be split? A plan, with every device ready and the shares set; NULL: it
 * runs at home. about: what the translator says of the kernel. measured: only if that promises to
 * be faster.
 */
struct split *split_plan(const struct opencl_command *command, const struct translate_kernel *about,
                         const struct placement_team *team, bool measured);

/*
 * Copies what the devices need, runs the shares (the spread lock is given up meanwhile) and leaves
 * partial results; or merges them at once where the program could look without asking. *ret_done
 * false: nothing has run. Takes the split over.
 */
cl_int split_run(struct split *split, struct device_engine *engine, struct opencl_command *command,
                 bool *ret_done);

/*
 * The whole launch on another device: a plan as above, whose only share is there. Its buffers
 * follow it and stay, until a command needs them elsewhere. If that device fails, it runs at
 * home, provided that home still has what it needs; else the driver's error.
 */
struct split *split_plan_on(const struct opencl_command *command, const struct translate_kernel *about,
                            struct further_device *device);
cl_int split_run_on(struct split *split, struct device_engine *engine, struct opencl_command *command,
                    bool *ret_done);

/*
 * Merges at home, repeating the others' groups there if they disagree or failed, and frees. queue:
 * one of the program's. A driver's code: if home did not take the results, the split is still
 * there, and the next call tries again; if they could not be repeated either, the buffers
 * say so (lost).
 */
cl_int split_resolve(struct split *split, struct queue_record *queue);

/* The results are not needed: frees. */
void split_drop(struct split *split);

/*
 * Nothing of others may be pending in it: merges what is written there, and, before a write, what
 * was computed from it.
 */
cl_int split_settle(struct spread_buffer *buffer, bool for_writing, struct queue_record *queue);

bool split_is_settled(const struct spread_buffer *buffer, bool for_writing);

/* --- its steps --- */

/*
 * Everything that was pending in its buffers is merged, and every device has what its share needs.
 * A driver's code.
 */
cl_int split_supply(struct split *split, struct queue_record *queue);
/* The same for a launch whose only share is elsewhere. */
cl_int split_supply_alone(struct split *split, struct queue_record *queue);

/*
 * Without the spread lock: all shares at once; each holds its own engine only. Answers home's code,
 * the others have theirs.
 */
cl_int split_run_shares(struct split *split, struct device_engine *engine, struct opencl_command *command);
void split_learn_rates(struct split *split);

/* Groups [begin, end) at home, after everything. */
cl_int split_at_home(struct split *split, struct queue_record *queue, uint32_t begin, uint32_t end);

/* The bytes of an output that the work-items of groups [begin, end) write, where that is known. */
struct range split_part(const struct split *split, const struct split_output *output, uint32_t begin,
                        uint32_t end);
/* Those of a share's own. */
struct range split_own_part(const struct split *split, const struct split_output *output,
                            const struct split_share *share);

#endif
