#include "cuda/frees.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/front.h"

struct held_free {
    struct held_free *next;
    CUdeviceptr address;
};

/* Under the lock: the link that points at it, or at the end. */
static struct held_free **find(CUdeviceptr address)
{
    struct held_free **at = &cuda_front.frees.list;

    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

bool frees_hold(CUdeviceptr address)
{
    struct held_free *fresh = malloc(sizeof *fresh);
    bool known;

    pthread_mutex_lock(&cuda_front.frees.lock);
    known = *find(address) != NULL;
    if (!known && fresh) { /* without memory a second free goes to the driver, which answers it later */
        *fresh = (struct held_free){cuda_front.frees.list, address};
        cuda_front.frees.list = fresh;
        atomic_fetch_add(&cuda_front.frees.n, 1);
        fresh = NULL;
    }
    pthread_mutex_unlock(&cuda_front.frees.lock);
    free(fresh);
    return !known;
}

bool frees_held(CUdeviceptr address)
{
    bool held;

    if (atomic_load(&cuda_front.frees.n) == 0)
        return false;
    pthread_mutex_lock(&cuda_front.frees.lock);
    held = *find(address) != NULL;
    pthread_mutex_unlock(&cuda_front.frees.lock);
    return held;
}

CUresult frees_issue(const struct call *call)
{
    struct held_free **at, *done;

    pthread_mutex_lock(&cuda_front.frees.lock);
    at = find(call->args[0]);
    done = *at;
    if (done) {
        *at = done->next;
        atomic_fetch_sub(&cuda_front.frees.n, 1);
    }
    pthread_mutex_unlock(&cuda_front.frees.lock);
    free(done);
    return call_invoke(call);
}
