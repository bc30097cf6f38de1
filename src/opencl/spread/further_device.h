/*
 * Further devices: those that the program did not choose. Each has a context and two queues of the
 * layer, made at their first use, and one thread that runs its shares of split kernels. The
 * program's own context never gets further devices.
 *
 * Drivers copy directly only between devices of one context. So under migration `p2p` all devices
 * of the platform share a context of the layer. The program's own device is among them as a further
 * one. Jobs on it also run there, and the program's context has only what cannot be placed.
 */
#ifndef OPENCL_SPREAD_DEVICE_H
#define OPENCL_SPREAD_DEVICE_H

#include "opencl/opencl_objects.h"
#include "spread/coherence.h"

enum { FURTHER_MAX = PLACE_MAX - PLACE_DEVICE };

/*
 * Work for the thread of a device. Lives until device_task_wait() has answered. A task that no
 * thread waits for frees itself.
 */
struct device_task {
    struct device_task *next;
    void (*run)(struct device_task *task);
    bool done, unattended;
};

struct further_device {
    cl_device_id handle;
    cl_platform_id platform;
    struct opencl_device *record;
    cl_context context;
    /*
     * In-order queues of that context, in no table. One thread at a time uses each: the device's
     * thread, and the holder of the spread lock. A driver that runs commands inside the enqueue
     * call (QUIRK_RUNS_INSIDE) deadlocks when one thread enqueues behind what another thread runs.
     * The queues are not ordered against each other: each user waits for the end of what it
     * enqueued.
     */
    struct queue_record shares, copies;
    int place;       /* PLACE_DEVICE + its index */
    unsigned number; /* its number among the devices of its platform */

    pthread_mutex_t lock; /* guards the following, but not `failed` */
    pthread_cond_t changed;
    struct device_task *tasks, **tail;
    pthread_t thread;
    bool started, stopping;
    bool failed; /* the spread lock: making a context or queue failed, and is not tried again */
};

/*
 * The devices that may help this one, ready for use: whole devices of the same platform and type.
 * At most n, and only those whose number is in the set (0: any). With the spread lock held.
 */
unsigned device_helpers(const struct opencl_device *home, unsigned n, uint64_t set,
                        struct further_device *ret_devices[FURTHER_MAX]);

/*
 * The program's own device as a further one in the shared context; NULL: not available. With the
 * spread lock held.
 */
struct further_device *device_as_peer(const struct opencl_device *home);

/* Can the driver copy directly between these two places? */
bool device_share_context(int a, int b);

/* The largest number that device_helpers() could answer; makes nothing. */
unsigned device_count_helpers(struct opencl_device *home);

/* The further device at a place. */
struct further_device *device_at(int place);

/*
 * Gives a task to the device's thread. False: there is no thread, and the caller runs the task
 * itself.
 */
bool device_task_start(struct further_device *device, struct device_task *task);
/*
 * Waits for the task. The caller is the worker of `own`, so it meanwhile finishes what the program
 * issued there directly.
 */
void device_task_wait(struct further_device *device, struct device_task *task, struct device_engine *own);

/* At exit. */
void device_stop_all(void);

#endif
