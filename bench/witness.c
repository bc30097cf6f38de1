#include "witness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"

enum { MOST_CORES = 64, MOST_SEEN = 65536, PRIORITY = 99 };

#define PERIOD (NSEC_PER_MS / 2)

struct still {
    baton_nsec begin_at, end_at;
};

static pthread_t threads[MOST_CORES];
static unsigned n_threads;
static _Atomic bool stop;
static struct still seen[MOST_SEEN];
static atomic_uint n_seen;

static void note(baton_nsec begin_at, baton_nsec end_at)
{
    unsigned slot = atomic_fetch_add(&n_seen, 1);

    if (slot < MOST_SEEN)
        seen[slot] = (struct still){begin_at, end_at};
}

static void *watch(void *unused)
{
    baton_nsec due_at = clock_now();

    (void)unused;
    while (!atomic_load(&stop)) {
        struct timespec due;
        baton_nsec now_at;

        due_at += PERIOD;
        due = (struct timespec){due_at / NSEC_PER_SEC, due_at % NSEC_PER_SEC};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
        }
        now_at = clock_now();
        if (now_at - due_at > WITNESS_STILL) {
            note(due_at - PERIOD, now_at); /* it began somewhere after the look before */
            due_at = now_at;
        }
    }
    return NULL;
}

static bool start_on(int core, pthread_t *ret_thread)
{
    struct sched_param parameters = {.sched_priority = PRIORITY};
    pthread_attr_t attributes;
    cpu_set_t only;
    int result;

    CPU_ZERO(&only);
    CPU_SET(core, &only);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    pthread_attr_setaffinity_np(&attributes, sizeof only, &only);
    result = pthread_create(ret_thread, &attributes, watch, NULL);
    pthread_attr_destroy(&attributes);
    return result == 0;
}

bool witness_begin(void)
{
    cpu_set_t allowed;

    atomic_store(&stop, false);
    atomic_store(&n_seen, 0);
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return false;
    for (int core = 0; core < CPU_SETSIZE && n_threads < MOST_CORES; core++) {
        if (!CPU_ISSET(core, &allowed))
            continue;
        if (!start_on(core, &threads[n_threads])) {
            witness_end();
            return false;
        }
        n_threads++;
    }
    return true;
}

void witness_end(void)
{
    atomic_store(&stop, true);
    while (n_threads > 0)
        (void)pthread_join(threads[--n_threads], NULL);
}

bool witness_saw(baton_nsec begin_at, baton_nsec end_at)
{
    unsigned n = atomic_load(&n_seen);

    if (n > MOST_SEEN) /* more than there is room for: it stood still all the time */
        return true;
    for (unsigned i = 0; i < n; i++) {
        if (seen[i].begin_at < end_at && seen[i].end_at > begin_at)
            return true;
    }
    return false;
}
