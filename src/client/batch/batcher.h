/*
 * Shared by the files client/batch/batch*.c. The life of a batch:
 *
 *   start (caller)          run (the batcher's thread)           workers, one per stream
 *   copy streams, plan ---> take its engines,
 *   append to the FIFO      post a job per stream ------------>  wait for the turn on the engine
 *                                                                and for the planned instant, copy,
 *                           wait for all, end its group,    <--  wait for the GPU, run the kernel
 *                           mark done
 */
#ifndef CLIENT_BATCHER_H
#define CLIENT_BATCHER_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/nsec.h"
#include "baton/batch.h"
#include "client/batch/batch_api.h"
#include "client/batch/batch_cores.h"
#include "client/batch/batch_emulator.h"
#include "client/batch/batch_engines.h"
#include "client/join.h"
#include "transfer/batch.h"

/*
 * Lanes order the streams where only one may run. There is a lane per DMA engine, one per GPU's
 * execution engine, and one for all copies if they run one by one.
 */
#define LANE_EXECUTION(node) (2 * TOPOLOGY_MAX_NODES + (node))
#define LANE_ALL             (3 * TOPOLOGY_MAX_NODES)
#define N_LANES              (3 * TOPOLOGY_MAX_NODES + 1)
#define N_STAGES             2 /* pieces in flight of a copy staged in host memory */

enum copy_kind { COPY_NONE, COPY_UP, COPY_DOWN, COPY_DEVICE, COPY_HOST, COPY_STAGED };

struct batcher_gpu {
    int node;
    const struct batch_api *api;
    void *device; /* owned; the API's own */
    /*
     * Held around each copy to and from the GPU: an engine copies one piece at a time, of any
     * stream. In addition, a driver that runs commands inside the enqueue call
     * (base/driver_quirks.def) deadlocks when two threads use one queue. A copy between GPUs takes
     * out_lock of the source, then in_lock of the target.
     */
    pthread_mutex_t in_lock, out_lock;
};

/* A place in a lane: the stream may go when the lane's counter reaches the ticket. */
struct ticket {
    unsigned lane;
    unsigned number;
};

struct stream_task {
    char name[64];
    size_t bytes;
    enum copy_kind kind;
    struct baton_place from, to;                 /* names of nodes are not kept */
    bool holds_from, holds_to;                   /* the API keeps the memory of the place */
    struct batcher_gpu *source, *target, *where; /* of the copy; of the kernel; NULL: none */
    void *kernel;                                /* owned; of where->api */
    struct ticket copy_tickets[2];
    size_t n_copy_tickets;
    struct ticket kernel_ticket;
    unsigned char *stage[N_STAGES];     /* owned; COPY_STAGED */
    size_t pieces_read, pieces_written; /* of the staged copy; guarded by baton_batch::lock */
    bool reading;                       /* the first leg may begin */
    struct core_use copying, computing; /* as planned */
    const struct core_use *wants;       /* the use that waits for an idle core; NULL: none */
    struct baton_times measured;
};

struct baton_batch {
    struct list link;              /* baton_batcher::waiting */
    struct baton_batcher *batcher; /* valid until done */
    const struct batch_method *method;
    struct stream_task *streams; /* owned */
    struct batch_stream *models; /* owned */
    struct batch plan;
    struct batch_timeline timeline;
    struct pacing *pacing;           /* owned; NULL unless the method paces */
    struct batch_emulator *emulator; /* owned; NULL unless links are emulated; guarded by lock */
    double ratio;                    /* bytes of the topology per byte copied */
    struct lease_group group;        /* its engines, while it runs */

    pthread_mutex_t lock;   /* guards what follows, and every stream's stage counters and wants */
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    unsigned turn[N_LANES];
    struct batch_cores cores;
    size_t n_moving;   /* jobs that have not reached their cores yet */
    size_t n_working;  /* streams that keep a core busy */
    size_t unfinished; /* jobs */
    bool failed, done;
    int error;
    char message[256];
    baton_nsec started_at;
    baton_nsec measured;
};

struct batch_job {
    struct baton_batch *batch;
    size_t stream;
    bool first_leg; /* of a staged copy: device to host */
};

struct baton_batcher {
    struct topology topology;
    struct topology emulated;
    bool emulates;
    double ratio;
    const struct batch_method *method;
    struct batcher_gpu *gpus; /* owned */
    size_t n_gpus;
    const struct join_hooks *hooks; /* of this process's session, or NULL */
    atomic_size_t granted;          /* batches that the daemon granted their engines */

    pthread_mutex_t lock; /* guards what follows; taken before a batch's lock */
    pthread_cond_t changed;
    struct list waiting; /* baton_batch::link; the first one runs */
    struct list hosts;   /* of baton_host_alloc() */
    bool closing;        /* no further batch will be started: the runner ends when none waits */
    bool deserted;       /* the runner has ended, so the workers may end */
    pthread_t runner;
    bool has_runner;
    pthread_t *workers; /* owned; n_workers of them */
    size_t n_workers;
    struct batch_job jobs[2 * BATCH_MAX_STREAMS];
    size_t n_jobs; /* jobs[0..n_jobs) are not taken yet */
};

/* batch.c: like baton_batcher_new(), with other tables of functions and the whole configuration. */
int batcher_new_over(const struct batch_libraries *libraries, const struct baton_batcher_config *config,
                     struct baton_batcher **ret_batcher, char *ret_message, size_t size);

/* batch_host.c: frees all remaining memory of baton_host_alloc(). */
void batcher_free_hosts(struct baton_batcher *batcher);

/* batch_plan.c */
/* Translates streams for the predictor. 0, or -EINVAL with the message. */
int batch_models(const struct topology *topology, const struct baton_stream streams[], size_t n, double ratio,
                 struct batch_stream ret_models[], char *ret_message, size_t size);
/* Copies, checks and plans: 0, or -errno with the batch failed and its message set. */
int batch_prepare(struct baton_batch *batch, const struct baton_stream streams[], size_t n);
void batch_release(struct baton_batch *batch); /* releases all that the APIs keep for it */

/* batch_execute.c */
/* Runs the batch on the batcher's workers and waits; called by the runner only. */
void batch_execute(struct baton_batch *batch);
void *batcher_worker(void *batcher);
/* Marks the batch as failed, unless it is already, and wakes the threads that wait in it. */
void batch_fail(struct baton_batch *batch, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* batch_copy.c */
/* Waits until the instant; false when the batch has failed meanwhile. */
bool batch_wait_until(struct baton_batch *batch, baton_nsec at);
/*
 * Executes the stream's copy, paced and emulated as the batch requires. 0, a code of the API of the
 * GPU that it copies to (else from), or COPY_CANCELLED. The first leg: of the API that it copies
 * from.
 */
#define COPY_CANCELLED INT_MIN
int batch_copy(struct baton_batch *batch, size_t stream);
int batch_copy_first_leg(struct baton_batch *batch, size_t stream);

#endif
