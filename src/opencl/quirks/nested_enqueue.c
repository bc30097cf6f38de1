#include "opencl/quirks/nested_enqueue.h"

#include "opencl/opencl_objects.h"
#include "opencl/quirks/quirks.h"

static _Thread_local unsigned depth;

void quirks_call_begin(const struct queue_record *queue, bool alone)
{
    struct quirks *quirks = &queue->device->quirks;

    if (!quirks_have(quirks, QUIRK_ENQUEUE_ALONE) || depth++)
        return;
    if (alone)
        pthread_rwlock_wrlock(&quirks->nested_enqueue_lock);
    else
        pthread_rwlock_rdlock(&quirks->nested_enqueue_lock);
}

void quirks_call_end(const struct queue_record *queue)
{
    struct quirks *quirks = &queue->device->quirks;

    if (quirks_have(quirks, QUIRK_ENQUEUE_ALONE) && --depth == 0)
        pthread_rwlock_unlock(&quirks->nested_enqueue_lock);
}

bool quirks_wait_outside(const struct queue_record *queue)
{
    const struct quirks *quirks = &queue->device->quirks;

    return quirks_have(quirks, QUIRK_ENQUEUE_ALONE) && !quirks_have(quirks, QUIRK_RUNS_INSIDE);
}

bool nested_enqueue_nested(void)
{
    return depth > 0;
}
