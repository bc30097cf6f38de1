#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/scripted.h"
#include "cuda_cpu/driver/work_private.h"

#define SPIN_NS (50 * NSEC_PER_US) /* about what it costs to wake a sleeping thread */
#define POLL_NS (20 * NSEC_PER_US)

bool work_in_callback(void)
{
    return driver_thread.in_callback;
}

void work_on_stop(void (*stop)(void *data), void *data)
{
    pthread_mutex_lock(&driver.machine.lock);
    if (driver_thread.own_queue) {
        driver_thread.own_queue->stop = stop;
        driver_thread.own_queue->stop_data = data;
        if (stop && atomic_load(&driver.machine.stopping)) /* work_close() may have looked for it already */
            stop(data);
    }
    pthread_mutex_unlock(&driver.machine.lock);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Does the device compute on the core that the calling thread runs on? */
static bool on_core_of(int device)
{
    int core =
        atomic_load_explicit(&driver.machine.engines[device][WORK_EXECUTION].core, memory_order_relaxed);

    return core && core == 1 + sched_getcpu();
}

bool work_spin(const struct work *work)
{
    int device = work->device;
    baton_nsec begin_at = clock_now();

    if (atomic_load_explicit(&driver.machine.slow[device], memory_order_relaxed) || on_core_of(device) ||
        scripted_any())
        return work_is_done(work);
    do {
        for (int i = 0; i < 64; i++) {
            if (work_is_done(work))
                return true;
            relax();
        }
    } while (clock_now() - begin_at < SPIN_NS);
    return work_is_done(work);
}

void work_waited(int device, baton_nsec waited)
{
    atomic_store_explicit(&driver.machine.slow[device], waited >= SPIN_NS, memory_order_relaxed);
}

/*
 * Does the calling thread keep ordinary threads off its core? Threads of other processes that drive
 * the same device share that core.
 */
static bool is_realtime(void)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    return policy == SCHED_FIFO || policy == SCHED_RR;
}

/*
 * Waits for an operation: spins for a moment, then sleeps; a real-time thread sleeps at once.
 * Unlocks the lock meanwhile.
 */
static struct work *next(struct work_queue *queue)
{
    struct work *work;
    baton_nsec begin_at = clock_now();
    bool spins = list_empty(&queue->ready) && !is_realtime() && !scripted_any();

    while (list_empty(&queue->ready) && !atomic_load(&driver.machine.stopping)) {
        if (spins && clock_now() - begin_at < SPIN_NS) {
            pthread_mutex_unlock(&driver.machine.lock);
            for (int i = 0; i < 64 && !atomic_load_explicit(&queue->n_ready, memory_order_acquire); i++)
                relax();
            pthread_mutex_lock(&driver.machine.lock);
            continue;
        }
        queue->asleep = true;
        pthread_cond_wait(&queue->wake, &driver.machine.lock);
        queue->asleep = false;
        begin_at = clock_now();
    }
    if (atomic_load(&driver.machine.stopping))
        return NULL;
    work = list_entry(queue->ready.next, struct work, link);
    list_remove(&work->link);
    atomic_fetch_sub(&queue->n_ready, 1);
    return work;
}

CUresult work_run(const struct work_queue *queue, struct work *work)
{
    unsigned device = (unsigned)queue->device;
    uint64_t ticket;
    CUresult status;

    if (!arrival_enter(driver.machine.arrival, device, queue->engine, &driver.machine.stopping, &ticket))
        return CUDA_ERROR_DEINITIALIZED;
    work->begin_at = clock_now();
    status = work->kind->run(work);
    work->end_at = clock_now();
    arrival_leave(driver.machine.arrival, device, queue->engine, ticket);
    return status;
}

static void *run_engine(void *argument)
{
    struct work_queue *queue = argument;
    struct work *work;
    CUresult status;

    driver_thread.own_queue = queue;
    pthread_mutex_lock(&driver.machine.lock);
    while ((work = next(queue))) {
        status = (CUresult)atomic_load(&work->context->error);
        pthread_mutex_unlock(&driver.machine.lock);
        if (status == CUDA_SUCCESS)
            status = work_run(queue, work);
        if (status != CUDA_SUCCESS)
            atomic_store(&work->context->error, (int)status);
        pthread_mutex_lock(&driver.machine.lock);
        work_end(work, status);
    }
    pthread_mutex_unlock(&driver.machine.lock);
    return NULL;
}

static void *run_host(void *argument)
{
    struct work_queue *queue = argument;
    struct work *work;
    CUresult status;

    driver_thread.in_callback = true;
    pthread_mutex_lock(&driver.machine.lock);
    while ((work = next(queue))) {
        pthread_mutex_unlock(&driver.machine.lock);
        status = work->kind->run(work);
        pthread_mutex_lock(&driver.machine.lock);
        work_end(work, status);
    }
    pthread_mutex_unlock(&driver.machine.lock);
    return NULL;
}

/* Checks every condition in turn. */
static void *run_poll(void *argument)
{
    struct work_queue *queue = argument;
    const struct timespec moment = {.tv_nsec = POLL_NS};
    struct work *work;
    CUresult error;

    pthread_mutex_lock(&driver.machine.lock);
    while ((work = next(queue))) {
        error = (CUresult)atomic_load(&work->context->error);
        if (error != CUDA_SUCCESS || work->kind->met(work)) {
            work_end(work, error);
            continue;
        }
        list_append(&queue->ready, &work->link);
        atomic_fetch_add(&queue->n_ready, 1);
        pthread_mutex_unlock(&driver.machine.lock);
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&driver.machine.lock);
    }
    pthread_mutex_unlock(&driver.machine.lock);
    return NULL;
}

/* Device n works on the n-th core that this process may use. */
static void pin(struct work_queue *queue)
{
    int device = queue->device, wanted, n;
    cpu_set_t mine, one;

    if (device < 0 || sched_getaffinity(0, sizeof mine, &mine) < 0 || (n = CPU_COUNT(&mine)) == 0)
        return;
    wanted = device % n;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &mine) || wanted-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        if (pthread_setaffinity_np(queue->thread, sizeof one, &one) == 0)
            atomic_store(&queue->core, core + 1);
        return;
    }
}

static void start(struct work_queue *queue)
{
    sigset_t all, old;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* faults of kernels must be delivered */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    queue->started = pthread_create(&queue->thread, NULL,
                                    queue == &driver.machine.host   ? run_host
                                    : queue == &driver.machine.poll ? run_poll
                                                                    : run_engine,
                                    queue) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (queue->started && queue == &driver.machine.host)
        (void)pthread_detach(queue->thread); /* no thread joins it */
    if (queue->started && queue->engine == WORK_EXECUTION)
        pin(queue);
}

bool work_wake(struct work_queue *queue)
{
    if (!queue->started)
        start(queue);
    else if (queue->asleep)
        pthread_cond_signal(&queue->wake);
    return queue->started;
}

static void queue_init(struct work_queue *queue, int device, enum work_engine engine)
{
    queue->device = device;
    queue->engine = engine;
    list_init(&queue->ready);
    pthread_cond_init(&queue->wake, NULL);
}

int work_open(const unsigned machine_devices[], unsigned n_devices)
{
    int result = arrival_open(&driver.machine.arrival);

    if (result < 0)
        return result;
    driver.machine.n_devices = n_devices;
    for (unsigned device = 0; device < n_devices; device++)
        for (int engine = 0; engine < WORK_ENGINES; engine++)
            queue_init(&driver.machine.engines[device][engine], (int)machine_devices[device],
                       (enum work_engine)engine);
    queue_init(&driver.machine.host, -1, WORK_HOST);
    queue_init(&driver.machine.poll, -1, WORK_POLL);
    return 0;
}

static void stop(struct work_queue *queue)
{
    bool started;

    pthread_mutex_lock(&driver.machine.lock);
    started = queue->started && !pthread_equal(queue->thread, pthread_self());
    if (started)
        pthread_cond_signal(&queue->wake);
    if (started && queue->stop)
        queue->stop(queue->stop_data);
    pthread_mutex_unlock(&driver.machine.lock);
    if (started)
        pthread_join(queue->thread, NULL);
}

/*
 * Waits until threads in work_do() have given up their place in an engine's queue or finished a
 * copy. The calling thread may be one of them: a signal handler that exits.
 */
static void await_callers(void)
{
    pthread_mutex_lock(&driver.machine.lock);
    while (driver.machine.n_callers > (driver_thread.is_caller ? 1 : 0))
        pthread_cond_wait(&driver.machine.ended, &driver.machine.lock);
    pthread_mutex_unlock(&driver.machine.lock);
}

void work_close(void)
{
    atomic_store(&driver.machine.stopping, true);
    for (unsigned device = 0; device < driver.machine.n_devices; device++)
        for (int engine = 0; engine < WORK_ENGINES; engine++)
            stop(&driver.machine.engines[device][engine]);
    stop(&driver.machine.poll);
    await_callers();
    pthread_mutex_lock(&driver.machine.lock);
    atomic_store(&driver.machine.closed, true);
    pthread_cond_broadcast(&driver.machine.ended);
    pthread_mutex_unlock(&driver.machine.lock);
    /*
     * The host's thread may be in the program's code, which may wait for ever. So it is not joined.
     */
    arrival_close(driver.machine.arrival);
    driver.machine.arrival = NULL;
}
