/* Which threads of a program batond orders on the CPUs: all of them, and no other program's. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "daemon/edge/pins.h"
#include "harness.h"

#define LEVEL 3u
#define LOW   5u

static atomic_bool over;

static void *idle(void *argument)
{
    atomic_store((_Atomic pid_t *)argument, gettid());
    while (!atomic_load(&over))
        (void)usleep(1000);
    return NULL;
}

/* A thread that nothing has named; its number when it runs. */
static pid_t start_thread(pthread_t *ret_thread)
{
    static _Atomic pid_t tid;

    atomic_store(&tid, 0);
    ck_assert_int_eq(pthread_create(ret_thread, NULL, idle, &tid), 0);
    while (!atomic_load(&tid))
        (void)usleep(1000);
    return atomic_load(&tid);
}

static int priority_of(pid_t tid)
{
    struct sched_param parameters = {0};

    ck_assert_int_eq(sched_getparam(tid, &parameters), 0);
    return parameters.sched_priority;
}

static unsigned cores_of(pid_t tid)
{
    cpu_set_t set;

    ck_assert_int_eq(sched_getaffinity(tid, sizeof set, &set), 0);
    return (unsigned)CPU_COUNT(&set);
}

static bool is_permitted(void)
{
    struct sched_param parameters = {.sched_priority = 1};
    struct sched_param none = {0};

    if (sched_setscheduler(0, SCHED_FIFO, &parameters) < 0)
        return false;
    return sched_setscheduler(0, SCHED_OTHER, &none) == 0;
}

/* Of this process; a sanitizer may have its own. */
static int n_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int n = 0;

    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder))) /* NOLINT(concurrency-mt-unsafe): a folder of this thread's own */
        n += entry->d_name[0] != '.';
    (void)closedir(folder);
    return n;
}

static struct core_set first_core(void)
{
    struct core_set cores = {{0}};
    cpu_set_t set;
    unsigned core = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET(core, &set))
        core++;
    core_set_add(&cores, core);
    return cores;
}

START_TEST(threads_that_were_never_named_are_ordered_and_restored)
{
    static struct pins pins;
    struct core_set cores = first_core();
    unsigned before = cores_of(gettid());
    pthread_t early, late;
    pid_t tids[2];

    if (!is_permitted())
        return;
    atomic_store(&over, false);
    pins_init(&pins, LOW);
    tids[0] = start_thread(&early);
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), n_threads());
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), 0);
    ck_assert_int_eq(priority_of(tids[0]), LOW + LEVEL - 1);
    ck_assert_uint_eq(cores_of(tids[0]), 1);
    ck_assert_uint_eq(pins_strangers(&pins, getpid()), 0);

    /* inherits the cores, not the priority, and is found by the next look */
    tids[1] = start_thread(&late);
    ck_assert_int_eq(priority_of(tids[1]), 0);
    ck_assert_uint_eq(cores_of(tids[1]), 1);
    ck_assert_uint_eq(pins_strangers(&pins, getpid()), 1);
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL + 1), 1);
    ck_assert_int_eq(priority_of(tids[0]), LOW + LEVEL);
    ck_assert_int_eq(priority_of(tids[1]), LOW + LEVEL);
    ck_assert_uint_eq(pins_strangers(&pins, getpid()), 0);

    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, 0), 0);
    ck_assert_int_eq(priority_of(tids[0]), 0);
    ck_assert_int_eq(priority_of(tids[1]), 0);
    ck_assert_uint_eq(cores_of(tids[0]), before);
    ck_assert_uint_eq(pins.n, 0);
    atomic_store(&over, true);
    (void)pthread_join(early, NULL);
    (void)pthread_join(late, NULL);
}
END_TEST

/* One thread ends and another starts: as many as before, and not the same. */
START_TEST(a_thread_in_the_place_of_another_is_found)
{
    static struct pins pins;
    struct core_set cores = first_core();
    pthread_t one, two;
    pid_t tid;

    if (!is_permitted())
        return;
    pins_init(&pins, LOW);
    atomic_store(&over, false);
    (void)start_thread(&one);
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), n_threads());
    atomic_store(&over, true);
    (void)pthread_join(one, NULL);
    atomic_store(&over, false);
    tid = start_thread(&two);
    ck_assert_uint_eq(pins_strangers(&pins, getpid()), 1);
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), 1);
    ck_assert_int_eq(priority_of(tid), LOW + LEVEL - 1);
    pins_done(&pins);
    ck_assert_int_eq(priority_of(tid), 0);
    atomic_store(&over, true);
    (void)pthread_join(two, NULL);
}
END_TEST

/* What a program may do to a thread that batond has ordered. */
static void change(pid_t tid, int what)
{
    struct sched_param parameters = {.sched_priority = what == 0 ? LOW + LEVEL + 5 : LOW + LEVEL - 1};
    cpu_set_t all;

    if (what == 2) { /* back to every core */
        memset(&all, 0xff, sizeof all);
        ck_assert_int_eq(sched_setaffinity(tid, sizeof all, &all), 0);
        return;
    }
    ck_assert_int_eq(
        sched_setscheduler(tid, (what == 0 ? SCHED_FIFO : SCHED_RR) | SCHED_RESET_ON_FORK, &parameters), 0);
}

START_TEST(a_thread_that_changes_its_priority_policy_or_cores_is_found)
{
    static struct pins pins;
    struct core_set cores = first_core();
    unsigned before = cores_of(gettid());
    pthread_t thread;
    pid_t tid;

    if (!is_permitted())
        return;
    pins_init(&pins, LOW);
    atomic_store(&over, false);
    tid = start_thread(&thread);
    ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), n_threads());
    for (int what = 0; what < (before > 1 ? 3 : 2); what++) {
        for (unsigned level = LEVEL; level <= LEVEL + 1; level++) { /* the same level, and another one */
            change(tid, what);
            ck_assert_uint_eq(pins_strangers(&pins, getpid()), 1);
            ck_assert_int_eq(pins_order(&pins, getpid(), &cores, level), 1);
            ck_assert_uint_eq(pins_strangers(&pins, getpid()), 0);
            ck_assert_int_eq(priority_of(tid), (int)(LOW + level - 1));
            ck_assert_int_eq(sched_getscheduler(tid), SCHED_FIFO | SCHED_RESET_ON_FORK);
            ck_assert_uint_eq(cores_of(tid), 1);
        }
        ck_assert_int_eq(pins_order(&pins, getpid(), &cores, LEVEL), 0);
    }
    pins_done(&pins);
    ck_assert_int_eq(priority_of(tid), 0);
    atomic_store(&over, true);
    (void)pthread_join(thread, NULL);
}
END_TEST

HARNESS_MAIN("pins", 30, threads_that_were_never_named_are_ordered_and_restored,
             a_thread_that_changes_its_priority_policy_or_cores_is_found,
             a_thread_in_the_place_of_another_is_found)
