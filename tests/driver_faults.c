#include "driver_faults.h"

#include <string.h>

static const struct row {
    enum driver_faults fault;
    const char *platform; /* CL_DEVICE_VERSION contains it */
    const char *versions; /* CL_DRIVER_VERSION begins with it */
    const char *device;   /* CL_DEVICE_NAME begins with it; NULL: every device */
    const char *why;
} rows[] = {
    {FAULT_MIGRATE_TO_HOST_HANGS, "PoCL", "6.0", "cpu-minimal",
     "clEnqueueMigrateMemObjects locks the memory object, then runs the copy in the same call, which locks "
     "it "
     "again; PoCL 3.1 and 5.0 return"},
    {FAULT_SMALL_GROUPS_CRASH, "PoCL", "6.0", NULL,
     "its compiler makes an empty function of `for (i = 0; i <= l; i++)` between barriers for groups of one "
     "or "
     "two items; not with POCL_WORK_GROUP_METHOD=loops, nor in PoCL 3.1 and 5.0"},
    {FAULT_IMAGE_EVENTS_MISNAMED, "OpenCL 3.0", "25.0", "llvmpipe",
     "events of rusticl's FillImage say FILL_BUFFER, those of its WriteImage WRITE_BUFFER_RECT"},
};

const char *driver_fault(cl_device_id device, enum driver_faults fault)
{
    char platform[256] = "";
    char version[256] = "";
    char name[256] = "";

    (void)clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof platform - 1, platform, NULL);
    (void)clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
    (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].fault == fault && strstr(platform, rows[i].platform) &&
            strncmp(version, rows[i].versions, strlen(rows[i].versions)) == 0 &&
            (!rows[i].device || strncmp(name, rows[i].device, strlen(rows[i].device)) == 0))
            return rows[i].why;
    return NULL;
}
