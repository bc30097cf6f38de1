#include "opencl/quirks/quirks.h"

#include <stdio.h>
#include <string.h>

#include "opencl/layer.h"

#define VERSION(major, minor) ((major)*1000u + (minor))

static const struct {
    const char *driver;
    unsigned from, until;
    const char *devices;
} table[QUIRK_N] = {
#define QUIRK(identifier, driver, from, until, devices, what) {driver, from, until, devices},
#include "opencl/quirks/quirks.def"
#undef QUIRK
};

/* Does the name begin with one of the alternatives? */
static bool begins_with_one(const char *name, const char *alternatives)
{
    size_t length;

    if (!*alternatives)
        return true;
    for (; *alternatives; alternatives += length + (alternatives[length] == '|')) {
        length = strcspn(alternatives, "|");
        if (strncmp(name, alternatives, length) == 0)
            return true;
    }
    return false;
}

void quirks_init(struct quirks *quirks, cl_device_id device)
{
    /* an answer that does not fit counts as none */
    char about[256] = "", name[256] = "", driver[256] = "";
    unsigned major, minor, version = 0;

    front.target.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof about - 1, about, NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    front.target.clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
    if (sscanf(driver, "%u.%u", &major, &minor) == 2)
        version = VERSION(major, minor);
    quirks->has = 0;
    for (unsigned i = 0; i < QUIRK_N; i++)
        if (strstr(about, table[i].driver) && begins_with_one(name, table[i].devices) &&
            (!version || (version >= table[i].from && (!table[i].until || version <= table[i].until))))
            quirks->has |= 1u << i;
    pthread_rwlock_init(&quirks->nested_enqueue_lock, NULL);
}
