/*
 * Two threads give work to streams that CUDA orders among each other. Whichever of two calls comes
 * first, its work comes first, and the program ends; a program that hangs here does so because of
 * Baton. Each thread writes to a word of its own, so that the result is the same in any order.
 *
 *     thread-order legacy   one thread uses the legacy stream, the other a blocking one
 *     thread-order event    one records an event in a stream in which the other waits for it
 *     thread-order crossed  one records an event in the legacy stream, the other waits for it in a
 *                           blocking one
 *     thread-order fresh [N]
 *                           one records a new event each time, N times in all (2,000), and waits
 *                           for it, while the other has a stream wait for it: what came before the
 *                           record is there then
 *     thread-order ended    one ends, with work behind a function in its own default stream, or in
 *                           the legacy one, that waits for the other
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_must.h"

enum { ROUNDS = 2000, IN_ROUND = 8, COPIES = ROUNDS * IN_ROUND, WAITS = 1, RECORDS = 2 };

struct side {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUdeviceptr numbers, word;
    int does;
    pthread_barrier_t *barrier;
};

/* Both threads begin a round together, and each waits for what it has done in it. */
static void *run_side(void *argument)
{
    const struct side *side = argument;

    MUST(cuCtxSetCurrent(side->context));
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(side->barrier);
        for (unsigned i = 0; i < IN_ROUND; i++) {
            if (side->does == RECORDS)
                MUST(cuEventRecord(side->event, side->stream));
            if (side->does == WAITS)
                MUST(cuStreamWaitEvent(side->stream, side->event, 0));
            MUST(cuMemcpyDtoDAsync_v2(side->word, side->numbers + (round * IN_ROUND + i) * sizeof(unsigned),
                                      sizeof(unsigned), side->stream));
        }
        MUST(cuStreamSynchronize(side->stream));
    }
    return NULL;
}

/* Is the last copy of each thread the one that its word has? */
static int run(struct side sides[2])
{
    static unsigned numbers[COPIES];
    pthread_t threads[2];
    unsigned words[2];
    CUdeviceptr memory, table;
    pthread_barrier_t barrier;

    for (unsigned i = 0; i < COPIES; i++)
        numbers[i] = i;
    MUST(cuMemAlloc_v2(&memory, sizeof words));
    MUST(cuMemAlloc_v2(&table, sizeof numbers));
    MUST(cuMemcpyHtoD_v2(table, numbers, sizeof numbers));
    (void)pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        MUST(cuCtxGetCurrent(&sides[i].context));
        sides[i].word = memory + (CUdeviceptr)i * sizeof words[0];
        sides[i].numbers = table;
        sides[i].barrier = &barrier;
        if (pthread_create(&threads[i], NULL, run_side, &sides[i]) != 0)
            exit(2);
    }
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&barrier);
    MUST(cuMemcpyDtoH_v2(words, memory, sizeof words));
    MUST(cuMemFree_v2(table));
    MUST(cuMemFree_v2(memory));
    printf("%u %u\n", words[0], words[1]);
    return words[0] == COPIES - 1 && words[1] == COPIES - 1 ? 0 : 1;
}

/* --- fresh --- */

static struct {
    int rounds;
    CUcontext context;
    CUevent event;
    _Atomic int begun, waited; /* the round */
} fresh;

static void await_round(const _Atomic int *round, int i)
{
    while (*round < i)
        (void)sched_yield();
}

static void *wait_for_fresh(void *unused)
{
    CUstream stream;

    MUST(cuCtxSetCurrent(fresh.context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 1; i <= fresh.rounds; i++) {
        await_round(&fresh.begun, i);
        for (volatile int turn = 0; turn < i * 37 % 8000; turn++)
            ; /* so that it meets the record at each of its steps */
        MUST(cuStreamWaitEvent(stream, fresh.event, 0));
        fresh.waited = i;
    }
    MUST(cuStreamSynchronize(stream));
    return unused;
}

static int run_fresh(void)
{
    CUdeviceptr memory;
    unsigned *found;
    CUstream stream;
    pthread_t thread;
    int n_wrong = 0;

    MUST(cuCtxGetCurrent(&fresh.context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc_v2(&memory, 1 << 21));
    MUST(cuMemHostAlloc((void **)&found, sizeof *found, 0));
    if (pthread_create(&thread, NULL, wait_for_fresh, NULL) != 0)
        exit(2);
    for (int i = 1; i <= fresh.rounds; i++) {
        MUST(cuEventCreate(&fresh.event, CU_EVENT_DISABLE_TIMING));
        MUST(cuMemsetD32Async(memory, (unsigned)i, (1 << 21) / 4, stream));
        MUST(cuMemcpyDtoHAsync_v2(found, memory, sizeof *found, stream));
        fresh.begun = i;
        MUST(cuEventRecord(fresh.event, stream));
        await_round(&fresh.waited, i);
        MUST(cuEventSynchronize(fresh.event));
        n_wrong += *(volatile unsigned *)found != (unsigned)i;
        MUST(cuEventDestroy_v2(fresh.event));
    }
    (void)pthread_join(thread, NULL);
    printf("%d of %d came too early\n", n_wrong, fresh.rounds);
    return n_wrong > 0;
}

/* --- ended --- */

static struct {
    CUcontext context;
    CUdeviceptr word;
    CUstream stream; /* of the function */
    _Atomic bool go_on;
} ended;

static void wait_for_main(void *unused)
{
    (void)unused;
    while (!ended.go_on)
        (void)sched_yield();
}

static void *leave_work(void *unused)
{
    MUST(cuCtxSetCurrent(ended.context));
    MUST(cuLaunchHostFunc(ended.stream, wait_for_main, NULL));
    MUST(cuMemsetD32Async(ended.word, 7, 1, CU_STREAM_PER_THREAD));
    return unused;
}

static int run_ended(void)
{
    static const CUstream streams[] = {CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
    int n_wrong = 0;

    MUST(cuCtxGetCurrent(&ended.context));
    MUST(cuMemAlloc_v2(&ended.word, sizeof(unsigned)));
    for (int i = 0; i < 2; i++) {
        unsigned found = 0;
        pthread_t thread;

        MUST(cuMemsetD32_v2(ended.word, 0, 1));
        MUST(cuCtxSynchronize());
        ended.stream = streams[i];
        ended.go_on = false;
        if (pthread_create(&thread, NULL, leave_work, NULL) != 0)
            exit(2);
        (void)pthread_join(thread, NULL);
        ended.go_on = true;
        MUST(cuCtxSynchronize());
        MUST(cuMemcpyDtoH_v2(&found, ended.word, sizeof found));
        n_wrong += found != 7;
    }
    printf("%d of 2 lost work\n", n_wrong);
    return n_wrong > 0;
}

int main(int argc, char **argv)
{
    const char *what = argc >= 2 ? argv[1] : "";
    struct side sides[2] = {0};
    CUcontext context;
    CUstream stream;
    CUevent event;

    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    if (strcmp(what, "fresh") == 0) {
        fresh.rounds = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 2000;
        return run_fresh();
    }
    if (strcmp(what, "ended") == 0)
        return run_ended();
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    sides[0].event = sides[1].event = event;
    sides[1].stream = stream;
    if (strcmp(what, "event") == 0)
        sides[0].stream = stream;
    else if (strcmp(what, "legacy") != 0 && strcmp(what, "crossed") != 0)
        return 2;
    if (strcmp(what, "legacy") != 0) {
        sides[0].does = RECORDS;
        sides[1].does = WAITS;
    }
    return run(sides);
}
