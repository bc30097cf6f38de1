/*
 * An OpenCL layer below Baton's: every device has the PCI address of the first device of the CUDA
 * library for CPU cores. So a program reaches one GPU through both APIs.
 */
#include <string.h>

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

static cl_icd_dispatch below, table;

static CL_API_ENTRY cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room,
                                                       void *ret_value, size_t *ret_size)
{
    const cl_device_pci_bus_info_khr pci = {.pci_bus = 0xb0};

    if (name != CL_DEVICE_PCI_BUS_INFO_KHR)
        return below.clGetDeviceInfo(device, name, room, ret_value, ret_size);
    if (ret_value && room < sizeof pci)
        return CL_INVALID_VALUE;
    if (ret_value)
        memcpy(ret_value, &pci, sizeof pci);
    if (ret_size)
        *ret_size = sizeof pci;
    return CL_SUCCESS;
}

#pragma GCC visibility push(default)
CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *ret_value,
                                               size_t *ret_size)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (name != CL_LAYER_API_VERSION || (ret_value && room < sizeof version))
        return CL_INVALID_VALUE;
    if (ret_value)
        memcpy(ret_value, &version, sizeof version);
    if (ret_size)
        *ret_size = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *ret_n,
                                            const cl_icd_dispatch **ret_dispatch)
{
    if (!target || !ret_n || !ret_dispatch || n < sizeof below / sizeof(void *))
        return CL_INVALID_VALUE;
    below = table = *target;
    table.clGetDeviceInfo = get_device_info;
    *ret_n = sizeof table / sizeof(void *);
    *ret_dispatch = &table;
    return CL_SUCCESS;
}
#pragma GCC visibility pop
