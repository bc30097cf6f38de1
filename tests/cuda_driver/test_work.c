/*
 * The threads of the CUDA device's engines (cuda_cpu/driver/work.h): a thread that waits stays
 * awake only where that takes no core from the device's work. Times are those that one thread
 * spends on a core. A busy machine shortens them, because spinning ends by the clock. So a long
 * time is tried until it is seen, and of short times the median counts.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda_cpu/driver/driver_state.h"
#include "harness.h"

enum { TRIES = 101 };

#define AWAKE_NS  (40 * NSEC_PER_US) /* the engines' threads and waiting threads spin for 50 us */
#define ASLEEP_NS (20 * NSEC_PER_US)
#define LIMIT_NS  (20 * NSEC_PER_SEC) /* of trying */

static baton_nsec on_core(clockid_t clock)
{
    struct timespec now;

    ck_assert_int_eq(clock_gettime(clock, &now), 0);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static bool is_awake(baton_nsec (*try)(void *), void *user)
{
    baton_nsec end_at = clock_now() + LIMIT_NS;

    while (clock_now() < end_at)
        if (try(user) >= AWAKE_NS)
            return true;
    return false;
}

static bool sleeps(baton_nsec (*try)(void *), void *user)
{
    int n_short = 0;

    for (int i = 0; i < TRIES; i++)
        n_short += try(user) < ASLEEP_NS;
    return n_short > TRIES / 2;
}

/* How long a wait for a flag that nothing sets keeps the core. user: as work_queue::core. */
static baton_nsec spin(void *user)
{
    static const _Atomic bool never = false;
    baton_nsec before = on_core(CLOCK_THREAD_CPUTIME_ID);

    atomic_store(&driver.machine.engines[0][WORK_EXECUTION].core, *(int *)user);
    ck_assert(!work_spin(&never, 0));
    return on_core(CLOCK_THREAD_CPUTIME_ID) - before;
}

START_TEST(a_thread_on_the_device_s_core_leaves_it_to_the_device)
{
    int core = sched_getcpu(), here = core + 1, elsewhere = core + 2, none = 0;
    cpu_set_t one;

    ck_assert_int_ge(core, 0);
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert(sleeps(spin, &here));
    ck_assert(is_awake(spin, &elsewhere));
    ck_assert(is_awake(spin, &none)); /* the device has no core of its own */
}
END_TEST

static _Atomic baton_nsec ended; /* the engine's thread, on a core until the end of its operation */

static CUresult run(struct work *work)
{
    (void)work;
    ended = on_core(CLOCK_THREAD_CPUTIME_ID);
    return CUDA_SUCCESS;
}

static bool is_asleep(struct work_queue *queue)
{
    bool asleep;

    pthread_mutex_lock(&driver.machine.lock);
    asleep = queue->asleep;
    pthread_mutex_unlock(&driver.machine.lock);
    return asleep;
}

/* How long the engine's thread keeps its core after an operation, before it sleeps. */
static baton_nsec run_one(void *user)
{
    static const struct work_kind kind = {.name = "nothing", .run = run};
    struct work_queue *queue = &driver.machine.engines[0][WORK_EXECUTION];
    struct work *work = work_new(&kind, WORK_EXECUTION, user, NULL);
    clockid_t clock;

    ck_assert_ptr_nonnull(work);
    ck_assert_int_eq(work_submit(work, NULL), 0);
    ck_assert_int_eq(work_wait(work), CUDA_SUCCESS);
    work_unref(work);
    while (!is_asleep(queue))
        (void)sched_yield();
    ck_assert_int_eq(pthread_getcpuclockid(queue->thread, &clock), 0);
    return on_core(clock) - ended;
}

START_TEST(a_real_time_engine_sleeps_at_once)
{
    static const unsigned devices[] = {0};
    struct sched_param parameters = {.sched_priority = 1};
    struct work_context context;
    char file[] = "/tmp/baton-engines-XXXXXX";

    ck_assert_int_ge(close(mkstemp(file)), 0);
    ck_assert_int_eq(setenv("BATON_CUDA_CPU_ENGINES", file, 1), 0);
    ck_assert_int_eq(work_open(devices, 1), 0);
    work_context_init(&context, 0);
    ck_assert(is_awake(run_one, &context));
    if (pthread_setschedparam(driver.machine.engines[0][WORK_EXECUTION].thread, SCHED_FIFO, &parameters) == 0)
        ck_assert(sleeps(run_one, &context));
    else
        printf("no permission for SCHED_FIFO: only an ordinary engine was tried\n");
    work_close();
    (void)unlink(file);
}
END_TEST

HARNESS_MAIN("cuda device's threads", 90, a_thread_on_the_device_s_core_leaves_it_to_the_device,
             a_real_time_engine_sleeps_at_once)
