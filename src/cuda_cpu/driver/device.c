/* What the devices are: every question about them. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/visible.h"
#include "cuda_cpu/launch.h"

static bool is_device(CUdevice device)
{
    return device >= 0 && (unsigned)device < driver.n_devices;
}

static CUresult enter(const char *name, CUdevice device, const void *answer)
{
    CUresult code = api_enter(name, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!answer)
        return CUDA_ERROR_INVALID_VALUE;
    return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

DRIVER_EXPORT CUresult cuDeviceGet(CUdevice *ret_device, int ordinal)
{
    CUresult code = enter(__func__, ordinal, ret_device);

    if (code == CUDA_SUCCESS)
        *ret_device = ordinal;
    return code;
}

DRIVER_EXPORT CUresult cuDeviceGetCount(int *ret_count)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_count)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_count = (int)driver.n_devices;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetName(char *ret_name, int room, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_name);

    if (code != CUDA_SUCCESS)
        return code;
    if (room <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    /* Baton knows the device by this name (base/driver_quirks.def) */
    snprintf(ret_name, (size_t)room, "Baton CPU device %u", driver.machine_devices[device]);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_uuid);

    if (code != CUDA_SUCCESS)
        return code;
    visible_uuid(driver.machine_devices[device], ret_uuid->bytes);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice device)
{
    return cuDeviceGetUuid(ret_uuid, device);
}

DRIVER_EXPORT CUresult cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_bytes);

    if (code == CUDA_SUCCESS)
        *ret_bytes = driver.device_bytes;
    return code;
}

DRIVER_EXPORT CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_value);

    if (code != CUDA_SUCCESS)
        return code;
    switch (attribute) {
#define ATTRIBUTE(number, value)                                                                             \
    case number:                                                                                             \
        *ret_value = value;                                                                                  \
        return CUDA_SUCCESS;
#include "cuda_cpu/driver/device_attributes.def"
#undef ATTRIBUTE
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_EXPORT CUresult cuDeviceGetProperties(CUdevprop *ret_properties, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_properties);

    if (code != CUDA_SUCCESS)
        return code;
    *ret_properties = (CUdevprop){.maxThreadsPerBlock = LAUNCH_MOST_THREADS,
                                  .maxThreadsDim = {LAUNCH_MOST_THREADS, LAUNCH_MOST_THREADS, 64},
                                  .maxGridSize = {INT_MAX, 65535, 65535},
                                  .sharedMemPerBlock = DRIVER_MOST_DYNAMIC,
                                  .totalConstantMemory = 65536,
                                  .SIMDWidth = LAUNCH_WARP,
                                  .memPitch = INT_MAX,
                                  .regsPerBlock = 65536,
                                  .clockRate = 1000000,
                                  .textureAlign = 512};
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_minor ? ret_major : NULL);

    if (code == CUDA_SUCCESS && ret_major && ret_minor) {
        *ret_major = DRIVER_COMPUTE_MAJOR;
        *ret_minor = DRIVER_COMPUTE_MINOR;
    }
    return code;
}

DRIVER_EXPORT CUresult cuDeviceGetPCIBusId(char *ret_id, int room, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_id);

    if (code != CUDA_SUCCESS)
        return code;
    if (room < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(ret_id, (size_t)room, "%04X:%02X:00.0", visible_pci_domain(),
             VISIBLE_PCI_BUS + driver.machine_devices[device]);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice *ret_device, const char *id)
{
    CUresult code = api_enter(__func__, API_READY);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_device || !id)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3 &&
        (domain = visible_pci_domain(), sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < driver.n_devices && domain == visible_pci_domain() && !slot && !function; i++)
        if (bus == VISIBLE_PCI_BUS + driver.machine_devices[i]) {
            *ret_device = (CUdevice)i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

DRIVER_EXPORT CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice device, CUdevice peer)
{
    CUresult code = enter(__func__, device, ret_can);

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *ret_can = device != peer;
    return CUDA_SUCCESS;
}

/* Rank of a link, its being there, native atomics, access to arrays. */
DRIVER_EXPORT CUresult cuDeviceGetP2PAttribute(int *ret_value, int attribute, CUdevice from, CUdevice to)
{
    CUresult code = enter(__func__, from, ret_value);

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(to) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute < 1 || attribute > 4)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_value = attribute == 1 ? 0 : 1;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetExecAffinitySupport(int *ret_can, int type, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_can);

    (void)type;
    if (code == CUDA_SUCCESS)
        *ret_can = 0;
    return code;
}

DRIVER_EXPORT CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *ret_width, CUarray_format format,
                                                          unsigned channels, CUdevice device)
{
    CUresult code = enter(__func__, device, ret_width);

    (void)format;
    if (code != CUDA_SUCCESS)
        return code;
    if (channels != 1 && channels != 2 && channels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_width = 268435456;
    return CUDA_SUCCESS;
}
