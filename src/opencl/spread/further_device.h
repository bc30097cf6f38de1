/*
 * Further devices: those that the program did not choose. Each has a context and two queues of
 * ours, made when first needed, and one thread that runs its shares of split kernels. The program's
 * own context is never widened.
 *
 * Drivers copy directly between devices of one context only. So under migration `p2p` all devices
 * of the platform share a context of ours, and the program's own device is among them as a further
 * one: jobs on it run there, too, and the program's context has only what cannot be placed.
 */
#ifndef OPENCL_SPREAD_DEVICE_H
#define OPENCL_SPREAD_DEVICE_H

#include "opencl/opencl_objects.h"
#include "spread/coherence.h"

enum { FURTHER_MAX = PLACE_MAX - PLACE_DEVICE };

/*
 * Something to do on the thread of a device. Lives until device_task_wait() has answered; one that
 * no thread waits for ends itself.
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
     * In order, of that context, not in any table. Each belongs to one thread at a time, that of
     * the device and the holder of the spread lock: a driver that runs commands inside the enqueue
     * call (QUIRK_RUNS_INSIDE) deadlocks when one thread enqueues behind what another thread is
     * running. Nothing orders them but that each of their users waits for the end of what it
     * enqueued.
     */
    struct queue_record shares, copies;
    int place;       /* PLACE_DEVICE + its index */
    unsigned number; /* among the devices of its platform */

    pthread_mutex_t lock; /* guards the following, but not `failed` */
    pthread_cond_t changed;
    struct device_task *tasks, **tail;
    pthread_t thread;
    bool started, stopping;
    bool failed; /* the spread lock: a context or queue could not be had, not tried again */
};

/*
 * The devices that may help this one, ready for use: same platform, same type, whole devices; at
 * most n, and only those whose number is in the set (0: any). With the spread lock held.
 */
unsigned device_helpers(const struct opencl_device *home, unsigned n, uint64_t set,
                        struct further_device *ret_devices[FURTHER_MAX]);

/*
 * The program's own device as a further one in the shared context; NULL: it cannot be had. With the
 * spread lock held.
 */
struct further_device *device_as_peer(const struct opencl_device *home);

/* Can the driver copy directly between these two places? */
bool device_share_context(int a, int b);

/* How many that would be at most, without making anything. */
unsigned device_count_helpers(struct opencl_device *home);

/* The further device at a place. */
struct further_device *device_at(int place);

/* Hands a task to the device's thread. False: no thread; run it yourself. */
bool device_task_start(struct further_device *device, struct device_task *task);
/*
 * Waits for it; meanwhile what the program gave to `own` directly is looked after, since its worker
 * is the one that waits.
 */
void device_task_wait(struct further_device *device, struct device_task *task, struct device_engine *own);

/* At exit. */
void device_stop_all(void);

#endif
