#include "opencl/quirks/quirks.h"

#include "opencl/layer.h"

void quirks_init(struct quirks *quirks, cl_device_id device)
{
    /* an answer that does not fit counts as none */
    char about[256] = "", name[256] = "", driver[256] = "";

    front.target.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof about - 1, about, NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    front.target.clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
    quirks->has = driver_quirks_of(about, driver, name);
    pthread_rwlock_init(&quirks->nested_enqueue_lock, NULL);
}
