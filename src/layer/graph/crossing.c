#include "layer/graph/crossing.h"

#include <string.h>

#include "layer/layer.h"
#include "layer/objects.h"

static _Thread_local unsigned depth;

void crossing_init(struct crossing *crossing, cl_device_id device)
{
    char version[256] = "";

    target.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    crossing->needed = strstr(version, "PoCL") != NULL;
    crossing->inside = strstr(version, "PoCL HSTR: basic") != NULL;
    pthread_rwlock_init(&crossing->lock, NULL);
}

bool crossing_alone(const struct command *command)
{
    return command->kind == COMMAND_MIGRATE ||
           (!command->queue->in_order &&
            (command->kind == COMMAND_MARKER || command->kind == COMMAND_BARRIER));
}

void crossing_begin(struct crossing *crossing, bool alone)
{
    if (!crossing->needed || depth++)
        return;
    if (alone)
        pthread_rwlock_wrlock(&crossing->lock);
    else
        pthread_rwlock_rdlock(&crossing->lock);
}

bool crossing_nested(void)
{
    return depth > 0;
}

void crossing_end(struct crossing *crossing)
{
    if (crossing->needed && --depth == 0)
        pthread_rwlock_unlock(&crossing->lock);
}
