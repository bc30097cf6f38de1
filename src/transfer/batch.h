/*
 * Batch operations over a shared interconnect (Batch, sec. 3). Answers when each stream's copy and
 * kernel begin and end under a method of sharing, and the earliest end that any method allows.
 * Pure: it reads no clock and allocates only inside the linear program.
 */
#ifndef TRANSFER_BATCH_H
#define TRANSFER_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"
#include "model/batch_file.h"
#include "model/topology.h"

/*
 * A copy between GPUs that is staged in host memory goes in pieces of this size; the second leg is
 * one piece behind.
 */
#define BATCH_STAGE_BYTES ((size_t)1 << 20)

/* The chunk size of a paced copy of this many bytes: about 32 chunks, between 256 KiB and 4 MiB. */
size_t batch_chunk_bytes(size_t bytes);

/* One stream with its route resolved. Rates are bytes per nanosecond, lengths nanoseconds. */
struct batch_flow {
    const char *name; /* borrowed */
    /* 0: no copy; scaled by the topology's `sizes`, so that bytes / rate is the copy's time */
    double bytes;
    double paced; /* the same for a copy cut into chunks */
    /* the bytes really copied; a staged copy counts one more staging piece, here and above */
    double copied;
    double chunk_ratio; /* copied / paced */
    double kernel;      /* 0: none */
    int gpu;            /* node that runs the kernel, or -1 */
    int from, to;       /* nodes, or -1 */
    int stage;          /* memory node that stages a peer copy, or -1 */
    unsigned links[ROUTE_MAX_LINKS];
    size_t n_links;
    unsigned engines[2]; /* DMA engines it occupies: 2 * node + (1: out, of a GPU with two) */
    size_t n_engines;
    int pair;     /* its bit in the look-up table, or -1 */
    double alone; /* rate when no other flow is active */
};

struct batch {
    const struct topology *topology; /* borrowed */
    struct batch_flow flows[BATCH_MAX_STREAMS];
    size_t n;
    /* flow-shop order (Johnson): which stream goes first on a shared engine or GPU */
    size_t order[BATCH_MAX_STREAMS];
    double capacity[TOPOLOGY_MAX_LINKS]; /* by link; set only for links that a flow uses */
    double derate;                       /* divisor of measured rates: 1 + margin */
    bool worst_case;
    double setup;
};

struct batch_options {
    bool worst_case; /* use the lowest measured bandwidths instead of the usual ones */
    double margin;   /* 0.05: bandwidths divided by 1.05, the set-up time times 1.05 */
};

/* Answers of batch_resolve(), besides 0. */
enum {
    /* no route, or several equally short ones, for the copy of *ret_unresolved */
    BATCH_NO_ROUTE = 1,
    /* a stream with neither copy nor kernel, or a kernel away from the copy's end */
    BATCH_BAD_STREAM = 2,
    BATCH_TOO_MANY = 3, /* no stream, or more than BATCH_MAX_STREAMS */
};

/*
 * Finds routes, engines and capacities. options may be NULL. *ret_batch borrows names and topology.
 */
int batch_resolve(const struct topology *topology, const struct batch_stream streams[], size_t n,
                  const struct batch_options *options, struct batch *ret_batch, size_t *ret_unresolved);

/*
 * From the start of the batch, including set-up. Without a copy, both its times are the kernel's
 * begin; without a kernel, the copy's end.
 */
struct stream_times {
    baton_nsec copy_begin, copy_end, kernel_begin, kernel_end;
};

struct batch_timeline {
    struct stream_times streams[BATCH_MAX_STREAMS];
    size_t n;
    baton_nsec total;
};

/*
 * Rates that the executor must keep: rate[k][i] of stream i from the end of the previous step until
 * end[k].
 */
struct pacing {
    double end[BATCH_MAX_STREAMS]; /* ns from the start of the batch */
    double rate[BATCH_MAX_STREAMS][BATCH_MAX_STREAMS];
    size_t n_steps;
};

struct batch_method {
    const char *name;    /* "aligned" */
    const char *summary; /* one line */
    /* copies must be paced to rates; otherwise they take the bandwidth that the bus gives */
    bool paces;
    bool one_at_a_time; /* a copy begins when the previous one has ended */
    /* 0 or -ENOMEM. Fills *ret_pacing if the method paces; the caller passes NULL otherwise. */
    int (*predict)(const struct batch *batch, struct batch_timeline *ret_timeline, struct pacing *ret_pacing);
};

/* NULL-ended; the first is the default */
extern const struct batch_method *const batch_methods[];

/*
 * No method can end this batch earlier. The bound combines the linear program over rates (glpk)
 * and, for each GPU, the two-machine flow shop with every copy alone on the bus. Set-up included.
 * 0, -ENOMEM.
 */
int batch_bound(const struct batch *batch, baton_nsec *ret_bound);

/*
 * Predicts into *ret_timeline. pacing is needed for execution and may be NULL. Methods that pace
 * cut copies into chunks. 0, -ENOMEM.
 */
int batch_predict(const struct batch *batch, const struct batch_method *method,
                  struct batch_timeline *ret_timeline, struct pacing *ret_pacing);

/* The methods, one file each; callers use batch_methods[]. */
extern const struct batch_method method_aligned, method_paced, method_bandwidth, method_time_division;

#endif
