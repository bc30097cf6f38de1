#include "opencl/spread/landing.h"

#include <stdlib.h>

#include "engine/runtime.h"
#include "opencl/layer.h"
#include "opencl/spread/split.h"
#include "opencl/spread/touch.h"

static bool count(const struct touch *touch, void *data)
{
    unsigned *n = data;

    *n += touch->writes;
    return true;
}

static bool add(const struct touch *touch, void *data)
{
    struct opencl_command *command = data;
    struct mem_record *root = mem_root(touch->mem);

    if (!touch->writes)
        return true;
    object_ref(&root->object);
    atomic_fetch_add(&root->n_landing, 1);
    command->landing[command->n_landing++] = root;
    return true;
}

bool landing_begins(struct opencl_command *command)
{
    unsigned n = 0;

    if (command->landing)
        return true;
    (void)touch_each(command, NULL, count, &n);
    command->landing = n ? calloc(n, sizeof(struct mem_record *)) : NULL;
    if (command->landing)
        (void)touch_each(command, NULL, add, command);
    return command->landing || !n;
}

void landing_wake(void)
{
    pthread_mutex_lock(&front.spread.landing_lock);
    pthread_cond_broadcast(&front.spread.landed);
    pthread_mutex_unlock(&front.spread.landing_lock);
}

void landing_ends(struct opencl_command *command)
{
    if (!command->landing)
        return;
    for (unsigned i = 0; i < command->n_landing; i++)
        atomic_fetch_sub(&command->landing[i]->n_landing, 1);
    landing_wake();
    for (unsigned i = 0; i < command->n_landing; i++)
        mem_unref(command->landing[i]);
    free(command->landing);
    command->landing = NULL;
    command->n_landing = 0;
}

static bool any_landing(const struct split *split)
{
    for (cl_uint i = 0; i < split->n_args; i++)
        if (split->roots[i] && atomic_load(&split->roots[i]->n_landing) > 0)
            return true;
    return false;
}

void landing_wait(const struct split *split, const struct queue_record *queue, bool *ret_waited)
{
    *ret_waited = any_landing(split) && !runtime_stopping();
    if (*ret_waited) {
        pthread_mutex_unlock(&front.spread.lock);
        pthread_mutex_lock(&front.spread.landing_lock);
        while (any_landing(split) && !runtime_stopping())
            pthread_cond_wait(&front.spread.landed, &front.spread.landing_lock);
        pthread_mutex_unlock(&front.spread.landing_lock);
        pthread_mutex_lock(&front.spread.lock);
    }
    for (int kind = 0; kind < ENGINE_N; kind++)
        flight_reap(&queue->device->base.engines[kind], true);
}
