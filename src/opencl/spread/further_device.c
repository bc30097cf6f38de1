#include "opencl/spread/further_device.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/session.h"
#include "engine/policy.h"
#include "opencl/layer.h"

#define LOOK_NS (1 * NSEC_PER_MS) /* how often a waiting worker serves its own engine */

enum { PLATFORM_DEVICES = 64 };

struct further_device *device_at(int place)
{
    return &front.spread.devices[place - PLACE_DEVICE];
}

static void make_queue(struct further_device *device, struct queue_record *queue)
{
    cl_int code;

    queue->handle =
        front.target.clCreateCommandQueue(device->context, device->handle, CL_QUEUE_PROFILING_ENABLE, &code);
    device->failed = device->failed || !queue->handle;
    object_init(&queue->object, &queue_class);
    queue->context = device->context;
    queue->device = device->record;
    command_queue_init(&queue->base, &device->record->base, true);
}

static struct further_device *find(cl_platform_id platform, cl_device_id handle, unsigned number)
{
    struct further_device *device;

    for (unsigned i = 0; i < front.spread.n_devices; i++)
        if (front.spread.devices[i].handle == handle)
            return &front.spread.devices[i];
    if (front.spread.n_devices == FURTHER_MAX)
        return NULL;
    device = &front.spread.devices[front.spread.n_devices];
    device->handle = handle;
    device->platform = platform;
    device->place = PLACE_DEVICE + (int)front.spread.n_devices;
    device->number = number;
    device->tail = &device->tasks;
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->changed, NULL);
    front.spread.n_devices++;
    return device;
}

/* The other devices of the platform that are of the same kind, with their numbers there. */
static cl_uint others(const struct opencl_device *home, cl_device_id ret_list[PLATFORM_DEVICES],
                      unsigned ret_numbers[PLATFORM_DEVICES])
{
    cl_device_id all[PLATFORM_DEVICES];
    cl_device_type type = CL_DEVICE_TYPE_ALL;
    cl_uint n = 0, kept = 0;

    if (home->base.engines != home->base.own)
        return 0; /* a part of a device: its sibling parts do not count as other devices */
    front.target.clGetDeviceInfo(home->handle, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (front.target.clGetDeviceIDs(home->platform, type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT,
                                    PLATFORM_DEVICES, all, &n) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n && i < PLATFORM_DEVICES; i++) {
        cl_bool available = CL_TRUE;
        cl_uint bits = home->address_bits;

        front.target.clGetDeviceInfo(all[i], CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
        front.target.clGetDeviceInfo(all[i], CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, NULL);
        if (all[i] == home->handle || !available || bits != home->address_bits)
            continue;
        ret_list[kept] = all[i];
        ret_numbers[kept++] = i;
    }
    return kept;
}

/* May a context of the layer have the device? */
static bool may_open(cl_device_id handle)
{
    const struct opencl_device *record = device_record_of(handle);

    return record && !engine_device_barred(&record->base);
}

/* One context for home and all devices that may help it, made once; NULL: the driver refuses. */
static cl_context peer_context(const struct opencl_device *home)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)home->platform, 0};
    struct peer_context *peers = &front.spread.peers;
    cl_device_id list[PLATFORM_DEVICES + 1];
    unsigned numbers[PLATFORM_DEVICES];
    cl_uint n, kept = 0;

    if (peers->tried)
        return peers->platform == home->platform ? peers->handle : NULL;
    peers->tried = true;
    peers->platform = home->platform;
    n = others(home, list, numbers);
    for (cl_uint i = 0; i < n; i++)
        if (may_open(list[i]))
            list[kept++] = list[i];
    list[kept++] = home->handle;
    peers->handle = front.target.clCreateContext(properties, kept, list, NULL, NULL, NULL);
    return peers->handle;
}

static void make_ready(struct further_device *device, const struct opencl_device *home)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
    cl_int code;

    if (device->context || device->failed)
        return;
    device->record = device_record_of(device->handle);
    device->failed = !may_open(device->handle);
    if (device->failed)
        return;
    device->context = policy_peer_copies() ? peer_context(home) : NULL;
    if (!device->context)
        device->context = front.target.clCreateContext(properties, 1, &device->handle, NULL, NULL, &code);
    device->failed = !device->context;
    if (device->failed)
        return;
    engine_device_use(&device->record->base);
    make_queue(device, &device->shares);
    make_queue(device, &device->copies);
}

struct further_device *device_as_peer(const struct opencl_device *home)
{
    struct further_device *device =
        policy_peer_copies() && peer_context(home) ? find(home->platform, home->handle, 0) : NULL;

    if (!device)
        return NULL;
    make_ready(device, home);
    return device->failed || device->context != front.spread.peers.handle ? NULL : device;
}

bool device_share_context(int a, int b)
{
    return a >= PLACE_DEVICE && b >= PLACE_DEVICE && device_at(a)->context &&
           device_at(a)->context == device_at(b)->context;
}

unsigned device_count_helpers(struct opencl_device *home)
{
    cl_device_id list[PLATFORM_DEVICES];
    unsigned numbers[PLATFORM_DEVICES];

    if (atomic_load_explicit(&home->n_helpers, memory_order_relaxed) < 0)
        atomic_store(&home->n_helpers, (int)others(home, list, numbers));
    return (unsigned)atomic_load_explicit(&home->n_helpers, memory_order_relaxed);
}

unsigned device_helpers(const struct opencl_device *home, unsigned n, uint64_t set,
                        struct further_device *ret_devices[FURTHER_MAX])
{
    cl_device_id list[PLATFORM_DEVICES];
    unsigned numbers[PLATFORM_DEVICES], kept = 0;
    cl_uint n_others = others(home, list, numbers);

    for (cl_uint i = 0; i < n_others && kept < n && kept < FURTHER_MAX; i++) {
        struct further_device *device;

        if (set && !(set >> numbers[i] & 1))
            continue;
        device = find(home->platform, list[i], numbers[i]);
        if (!device)
            break;
        make_ready(device, home);
        if (!device->failed)
            ret_devices[kept++] = device;
    }
    return kept;
}

/* --- its thread --- */

static void *run_device(void *argument)
{
    struct further_device *device = argument;
    struct session *session = runtime_session();

    if (session)
        session_register_thread(session, gettid());
    pthread_mutex_lock(&device->lock);
    while (!device->stopping) {
        struct device_task *task = device->tasks;
        bool unattended;

        if (!task) {
            pthread_cond_wait(&device->changed, &device->lock);
            continue;
        }
        device->tasks = task->next;
        if (!device->tasks)
            device->tail = &device->tasks;
        unattended = task->unattended;
        pthread_mutex_unlock(&device->lock);
        task->run(task);
        pthread_mutex_lock(&device->lock);
        if (unattended)
            continue;
        task->done = true;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

bool device_task_start(struct further_device *device, struct device_task *task)
{
    sigset_t all, old;
    bool accepted;

    task->next = NULL;
    task->done = false;
    pthread_mutex_lock(&device->lock);
    if (!device->started && !device->stopping) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        device->started = pthread_create(&device->thread, NULL, run_device, device) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    accepted = device->started && !device->stopping;
    if (accepted) {
        *device->tail = task;
        device->tail = &task->next;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&device->lock);
    return accepted;
}

void device_task_wait(struct further_device *device, struct device_task *task, struct device_engine *own)
{
    struct timespec until;

    pthread_mutex_lock(&device->lock);
    while (!task->done && !(device->stopping && !device->started)) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        if (until.tv_nsec >= NSEC_PER_SEC) {
            until.tv_nsec -= NSEC_PER_SEC;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&device->changed, &device->lock, &until);
        if (!task->done) {
            pthread_mutex_unlock(&device->lock);
            flight_reap(own, false);
            pthread_mutex_lock(&device->lock);
        }
    }
    pthread_mutex_unlock(&device->lock);
}

void device_stop_all(void)
{
    for (unsigned i = 0; i < front.spread.n_devices; i++) {
        bool started;

        pthread_mutex_lock(&front.spread.devices[i].lock);
        front.spread.devices[i].stopping = true;
        started = front.spread.devices[i].started;
        pthread_cond_broadcast(&front.spread.devices[i].changed);
        pthread_mutex_unlock(&front.spread.devices[i].lock);
        if (started)
            pthread_join(front.spread.devices[i].thread, NULL);
        pthread_mutex_lock(&front.spread.devices[i].lock);
        front.spread.devices[i].started = false;
        pthread_cond_broadcast(
            &front.spread.devices[i].changed); /* threads that wait for a task that will not run */
        pthread_mutex_unlock(&front.spread.devices[i].lock);
    }
}
