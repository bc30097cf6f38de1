#include "opencl/graph/crossing.h"

#include <string.h>

#include "opencl/layer.h"
#include "opencl/objects.h"

static _Thread_local unsigned depth;

/* How the names of PoCL's basic device begin: up to PoCL 3, and since PoCL 4. Since PoCL 6 only the name tells it apart. */
static const char *const basic_names[] = {"basic", "cpu-minimal"};

void crossing_init(struct crossing *crossing, cl_device_id device)
{
    char version[256] = "";
    char name[256] = "";

    target.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    target.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    crossing->needed = strstr(version, "PoCL") != NULL;
    crossing->inside = false;
    for (size_t i = 0; crossing->needed && i < sizeof basic_names / sizeof basic_names[0]; i++)
        crossing->inside |= strncmp(name, basic_names[i], strlen(basic_names[i])) == 0;
    pthread_rwlock_init(&crossing->lock, NULL);
}

bool crossing_alone(const struct opencl_command *command)
{
    return command->kind == COMMAND_MIGRATE ||
           (!command->queue->base.in_order &&
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
