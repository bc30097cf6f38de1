/*
 * The threads of the CUDA device's engines (cuda_cpu/driver/work.h): a thread that waits stays
 * awake only where that takes no core from the device's work. The clock of this program goes by
 * the looks at it, a microsecond each. So the looks of a thread tell how long it was awake, on any
 * machine.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/work_private.h"
#include "harness.h"

#define AWAKE  40 /* looks: the engines' threads and waiting threads spin for 50 us */
#define ASLEEP 10

static _Atomic baton_nsec virtual_now = NSEC_PER_SEC;
static _Thread_local atomic_uint looks; /* of this thread */

baton_nsec clock_now(void)
{
    atomic_fetch_add(&looks, 1);
    return atomic_fetch_add(&virtual_now, NSEC_PER_US) + NSEC_PER_US;
}

static struct work_context alone;
static struct work never = {.context = &alone}; /* is never done */

/* The looks of a wait for it. core: as work_queue::core. */
static unsigned spin(int core)
{
    unsigned before = atomic_load(&looks);

    atomic_store(&driver.machine.engines[0][WORK_EXECUTION].core, core);
    ck_assert(!work_spin(&never));
    return atomic_load(&looks) - before;
}

START_TEST(a_thread_on_the_device_s_core_leaves_it_to_the_device)
{
    const int core = sched_getcpu();
    cpu_set_t one;

    ck_assert_int_ge(core, 0);
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_lt(spin(core + 1), ASLEEP);
    ck_assert_uint_gt(spin(core + 2), AWAKE);
    ck_assert_uint_gt(spin(0), AWAKE); /* the device has no core of its own */
}
END_TEST

START_TEST(after_a_long_wait_a_thread_sleeps_at_once)
{
    ck_assert_uint_gt(spin(0), AWAKE);
    work_waited(alone.device, NSEC_PER_MS);
    ck_assert_uint_lt(spin(0), ASLEEP);
    work_waited(alone.device, 10 * NSEC_PER_US);
    ck_assert_uint_gt(spin(0), AWAKE);
}
END_TEST

/* Of the engine's thread: its looks, and how many there were at the end of its operation. */
static atomic_uint *engine_looks;
static unsigned looks_at_end;

static CUresult run(struct work *work)
{
    (void)work;
    engine_looks = &looks;
    looks_at_end = atomic_load(&looks);
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

/* The looks of the engine's thread from the end of an operation until it sleeps. */
static unsigned run_one(struct work_context *context)
{
    static const struct work_kind kind = {.name = "nothing", .run = run};
    struct work_queue *queue = &driver.machine.engines[0][WORK_EXECUTION];
    struct work *work = work_new(&kind, WORK_EXECUTION, context, NULL);

    ck_assert_ptr_nonnull(work);
    ck_assert_int_eq(work_submit(work, NULL), 0);
    ck_assert_int_eq(work_wait(work), CUDA_SUCCESS);
    work_unref(work);
    while (!is_asleep(queue))
        (void)sched_yield();
    return atomic_load(engine_looks) - looks_at_end;
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
    ck_assert_uint_gt(run_one(&context), AWAKE);
    if (pthread_setschedparam(driver.machine.engines[0][WORK_EXECUTION].thread, SCHED_FIFO, &parameters) == 0)
        ck_assert_uint_lt(run_one(&context), ASLEEP);
    else
        printf("no permission for SCHED_FIFO: only an ordinary engine was tried\n");
    work_close();
    (void)unlink(file);
}
END_TEST

/* --- copies that the calling thread waits for --- */

static char engines_file[] = "/tmp/baton-engines-XXXXXX";

static void open_machine(struct work_context *context)
{
    static const unsigned devices[] = {0};

    ck_assert_int_ge(close(mkstemp(engines_file)), 0);
    ck_assert_int_eq(setenv("BATON_CUDA_CPU_ENGINES", engines_file, 1), 0);
    ck_assert_int_eq(work_open(devices, 1), 0);
    work_context_init(context, 0);
}

static void close_machine(void)
{
    work_close();
    (void)unlink(engines_file);
}

/* What an operation of these tests saw, and what it waits for. */
struct seen {
    _Atomic bool *until;     /* waits until it is set; NULL: does not wait */
    _Atomic unsigned *place; /* counts operations in the order of their ends */
    unsigned nth;            /* its own */
    pid_t thread;
    _Atomic bool begun;
};

static CUresult see(struct work *work)
{
    struct seen *seen = work->data;

    seen->thread = gettid();
    atomic_store(&seen->begun, true);
    while (seen->until && !atomic_load(seen->until))
        (void)sched_yield();
    if (seen->place)
        seen->nth = ++*seen->place;
    return CUDA_SUCCESS;
}

static const struct work_kind seeing = {.name = "see", .run = see};

struct doing {
    struct work_context *context;
    struct work_stream *stream;
    enum work_engine engine;
    struct seen seen;
    pid_t thread;
    pthread_t handle;
};

static void *do_one(void *user)
{
    struct doing *doing = user;
    struct work *work = work_new(&seeing, doing->engine, doing->context, &doing->seen);
    CUresult status = CUDA_ERROR_UNKNOWN;

    doing->thread = gettid();
    ck_assert_ptr_nonnull(work);
    ck_assert_int_eq(work_do(work, doing->stream, &status), 0);
    ck_assert_int_eq(status, CUDA_SUCCESS);
    ck_assert(work_is_done(work));
    work_unref(work);
    return NULL;
}

static void submit(struct work_context *context, struct work_stream *stream, enum work_engine engine,
                   struct seen *seen)
{
    struct work *work = work_new(&seeing, engine, context, seen);

    ck_assert_ptr_nonnull(work);
    ck_assert_int_eq(work_submit(work, stream), 0);
    work_unref(work);
}

START_TEST(a_copy_that_is_waited_for_is_done_by_the_calling_thread)
{
    struct work_context context;
    struct doing doing = {.context = &context};

    open_machine(&context);
    doing.stream = work_stream_new(&context, 0, 0, false);
    for (int engine = WORK_EXECUTION; engine < WORK_ENGINES; engine++) {
        doing.engine = (enum work_engine)engine;
        do_one(&doing);
        ck_assert((doing.seen.thread == gettid()) == (engine != WORK_EXECUTION));
    }
    ck_assert_uint_eq(context.n_open, 0);
    ck_assert_ptr_null(doing.stream->last);
    work_stream_unref(doing.stream);
    close_machine();
}
END_TEST

/* In its stream a copy waits for a launch; on its engine for a copy that became ready before it. */
START_TEST(a_copy_that_is_waited_for_overtakes_nothing)
{
    _Atomic bool go = false;
    _Atomic unsigned place = 0;
    struct work_context context;
    struct seen launch = {.until = &go, .place = &place}, copy = launch, behind = {.place = &place};
    struct doing same = {.context = &context, .engine = WORK_COPY_OUT, .seen = {.place = &place}};
    struct doing other = {.context = &context, .engine = WORK_COPY_IN, .seen = {.place = &place}};

    open_machine(&context);
    same.stream = work_stream_new(&context, CU_STREAM_NON_BLOCKING, 0, false);
    submit(&context, same.stream, WORK_EXECUTION, &launch);
    submit(&context, NULL, WORK_COPY_IN, &copy);
    while (!atomic_load(&copy.begun))
        (void)sched_yield();
    submit(&context, NULL, WORK_COPY_IN, &behind);
    ck_assert_int_eq(pthread_create(&same.handle, NULL, do_one, &same), 0);
    ck_assert_int_eq(pthread_create(&other.handle, NULL, do_one, &other), 0);
    while (atomic_load(&context.n_open) < 5)
        (void)sched_yield();
    atomic_store(&go, true);
    ck_assert_int_eq(pthread_join(same.handle, NULL), 0);
    ck_assert_int_eq(pthread_join(other.handle, NULL), 0);
    ck_assert_uint_gt(same.seen.nth, launch.nth);
    ck_assert_uint_gt(behind.nth, copy.nth);
    ck_assert_uint_gt(other.seen.nth, behind.nth);
    ck_assert_int_ne(same.seen.thread, same.thread);
    ck_assert_int_ne(other.seen.thread, other.thread);
    work_stream_unref(same.stream);
    close_machine();
}
END_TEST

START_TEST(the_machine_s_end_waits_for_copies_of_callers)
{
    _Atomic unsigned place = 0;
    struct work_context context;
    struct doing doing = {.context = &context,
                          .engine = WORK_COPY_IN,
                          .seen = {.until = &driver.machine.stopping, .place = &place}};

    open_machine(&context);
    ck_assert_int_eq(pthread_create(&doing.handle, NULL, do_one, &doing), 0);
    while (!atomic_load(&doing.seen.begun))
        (void)sched_yield();
    close_machine();
    ck_assert_uint_eq(place, 1);
    ck_assert_int_eq(pthread_join(doing.handle, NULL), 0);
}
END_TEST

static CUresult end_process(struct work *work)
{
    (void)work;
    close_machine();
    _exit(7);
}

/* As a signal handler that exits does while its thread copies. */
START_TEST(a_caller_may_end_the_process_in_the_middle_of_its_copy)
{
    static const struct work_kind ending = {.name = "end", .run = end_process};
    pid_t child = fork();
    int status = 0;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct work_context context;
        CUresult code;

        open_machine(&context);
        (void)work_do(work_new(&ending, WORK_COPY_IN, &context, NULL), NULL, &code);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

/* --- an operation outlives its context --- */

static void *await(void *user)
{
    ck_assert_int_eq(work_wait(user), CUDA_SUCCESS);
    return NULL;
}

/* Under the lock, so that the waiting thread cannot go on before the context is gone. */
static void end_with_context(struct work *work, struct work_context *context)
{
    pthread_mutex_lock(&driver.machine.lock);
    work->n_waits = 0;
    work_ready(work);
    ck_assert(work_is_done(work));
    ck_assert_uint_eq(context->n_open, 0);
    ck_assert_int_eq(mprotect(context, sizeof *context, PROT_NONE), 0);
    pthread_mutex_unlock(&driver.machine.lock);
}

/* As cuEventSynchronize on one thread and cuCtxDestroy on another. */
START_TEST(a_context_may_end_before_a_wait_for_its_last_operation_returns)
{
    static const struct work_kind kind = {.name = "nothing"};
    struct work_context *context =
        mmap(NULL, sizeof *context, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct work_context other;
    struct work *work;
    pthread_t thread;
    bool awaited = false;

    ck_assert_ptr_ne(context, MAP_FAILED);
    open_machine(&other);
    work_context_init(context, 0);
    work = work_new(&kind, WORK_NONE, context, NULL);
    ck_assert_ptr_nonnull(work);
    work->n_waits++; /* until end_with_context() */
    ck_assert_int_eq(work_submit(work, NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, await, work), 0);
    while (!awaited) {
        (void)sched_yield();
        pthread_mutex_lock(&driver.machine.lock);
        awaited = work->awaited; /* the thread sleeps: it has released the lock since */
        pthread_mutex_unlock(&driver.machine.lock);
    }
    end_with_context(work, context);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    work_unref(work);
    close_machine();
    ck_assert_int_eq(munmap(context, sizeof *context), 0);
}
END_TEST

HARNESS_MAIN("cuda device's threads", 90, a_thread_on_the_device_s_core_leaves_it_to_the_device,
             after_a_long_wait_a_thread_sleeps_at_once, a_real_time_engine_sleeps_at_once,
             a_copy_that_is_waited_for_is_done_by_the_calling_thread,
             a_copy_that_is_waited_for_overtakes_nothing, the_machine_s_end_waits_for_copies_of_callers,
             a_caller_may_end_the_process_in_the_middle_of_its_copy,
             a_context_may_end_before_a_wait_for_its_last_operation_returns)
