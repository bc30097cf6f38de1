/*
 * The child's side of the probe: the only place where batond's program touches OpenCL, loaded at
 * run time.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/patience.h"
#include "daemon/edge/device_probe.h"
#include "wire/device_name.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES   64
#define LONGEST_PROBE (20 * NSEC_PER_SEC)
#define PCI_INFO_KHR  0x410F /* cl_khr_pci_bus_info: domain, bus, device, function */
#define PCI_BUS_NV    0x4008 /* cl_nv_device_attribute_query */
#define PCI_SLOT_NV   0x4009
#define PCI_DOMAIN_NV 0x400A

struct probe_opencl {
    cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int (*platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
    cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
};

static bool load(struct probe_opencl *opencl)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
    *(void **)&opencl->platforms = dlsym(library, "clGetPlatformIDs");
    *(void **)&opencl->platform_info = dlsym(library, "clGetPlatformInfo");
    *(void **)&opencl->devices = dlsym(library, "clGetDeviceIDs");
    *(void **)&opencl->device_info = dlsym(library, "clGetDeviceInfo");
    return opencl->platforms && opencl->platform_info && opencl->devices && opencl->device_info;
}

static bool pci_name(const struct probe_opencl *opencl, cl_device_id device, char ret_name[DEVICE_NAME_SIZE])
{
    cl_uint khr[4] = {0};
    cl_uint bus = 0;
    cl_uint slot = 0;
    cl_uint domain = 0;

    if (opencl->device_info(device, PCI_INFO_KHR, sizeof khr, khr, NULL) == CL_SUCCESS) {
        device_name_pci(khr[0], khr[1], khr[2], khr[3], ret_name);
        return true;
    }
    if (opencl->device_info(device, PCI_BUS_NV, sizeof bus, &bus, NULL) == CL_SUCCESS &&
        opencl->device_info(device, PCI_SLOT_NV, sizeof slot, &slot, NULL) == CL_SUCCESS) {
        (void)opencl->device_info(device, PCI_DOMAIN_NV, sizeof domain, &domain, NULL);
        device_name_pci(domain, bus, slot >> 3, slot & 7, ret_name);
        return true;
    }
    return false;
}

static void print_device(const struct probe_opencl *opencl, const char *platform, cl_device_id device,
                         unsigned index)
{
    char name[DEVICE_NAME_SIZE];
    char description[128] = "";

    if (!pci_name(opencl, device, name))
        device_name_indexed(platform, index, name);
    (void)opencl->device_info(device, CL_DEVICE_NAME, sizeof description - 1, description, NULL);
    for (char *at = description; *at; at++) {
        if ((unsigned char)*at < ' ')
            *at = ' ';
    }
    printf("%s\t%s\n", name, description);
}

int probe_main(void)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES];
    struct probe_opencl opencl = {0};
    cl_uint n_platforms = 0;

    /* a driver that hangs stops only this process */
    alarm((unsigned)(patience_limit(LONGEST_PROBE) / NSEC_PER_SEC));
    if (!load(&opencl) || opencl.platforms(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
        return 0; /* no OpenCL means no devices, which is a valid answer */
    for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; p++) {
        char platform[128] = "";
        cl_uint n = 0;

        (void)opencl.platform_info(platforms[p], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
        if (opencl.devices(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n && d < MAX_DEVICES; d++)
            print_device(&opencl, platform, devices[d], d);
    }
    (void)fflush(stdout);
    _exit(0); /* without the drivers' own exit handlers */
}
