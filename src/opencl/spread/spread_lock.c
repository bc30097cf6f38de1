#include "opencl/spread/spread_lock.h"

#include <stdlib.h>

#include "engine/graph.h"
#include "engine/step.h"
#include "engine/worker.h"
#include "opencl/layer.h"
#include "opencl/spread/split.h"

void spread_lock(void)
{
    pthread_mutex_lock(&front.spread.lock);
}

bool spread_trylock(void)
{
    return pthread_mutex_trylock(&front.spread.lock) == 0;
}

void spread_after(struct command_callback *callback)
{
    callback->next = front.spread.after;
    front.spread.after = callback;
}

/* With the lock held. */
static void drop_results(struct mem_record *root)
{
    struct spread_buffer *buffer = atomic_load(&root->spread);
    struct split *split = buffer ? buffer->writer : NULL;

    if (!split || split->running)
        return;
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (atomic_load(&split->outputs[i].buffer->root->n_held) > 0)
            return;
    split_drop(split);
}

/* With the lock held; answers the roots, whose references the caller drops. */
static struct mem_record *drop_unused(void)
{
    struct mem_record *list = atomic_exchange(&front.spread.unused, NULL), *done = NULL;

    while (list) {
        struct mem_record *root = list;

        list = root->next_unused;
        root->next_unused = done;
        done = root;
        drop_results(root);
    }
    return done;
}

/* Each may be listed again as soon as it is marked so, or end. */
static void unref_all(struct mem_record *list)
{
    while (list) {
        struct mem_record *root = list;

        list = root->next_unused;
        atomic_store(&root->unused, false);
        mem_unref(root);
    }
}

/* With the lock held, which it gives back. */
static void unlock(void)
{
    struct mem_record *roots = drop_unused();
    struct command_callback *after = front.spread.after;

    front.spread.after = NULL;
    pthread_mutex_unlock(&front.spread.lock);
    unref_all(roots);
    if (after && !(step_thread.driving && worker_call(step_thread.driving, after)))
        graph_run_callbacks(after);
}

void spread_unlock(void)
{
    unlock();
    while (atomic_load(&front.spread.unused) && spread_trylock())
        unlock();
}

void spread_unused(struct mem_record *root)
{
    struct mem_record *first;

    if (!atomic_load(&root->spread) || runtime_off() || atomic_exchange(&root->unused, true))
        return;
    object_ref(&root->object);
    first = atomic_load(&front.spread.unused);
    do
        root->next_unused = first;
    while (!atomic_compare_exchange_weak(&front.spread.unused, &first, root));
    if (spread_trylock())
        spread_unlock();
}
