/*
 * A driver that is newer than the front's table: the CPU device with one name more. Built in place
 * of the device's own proc_address.c, whose look-up answers for all other names.
 */
#define cuGetProcAddress_v2 older_lookup
#include "cuda_cpu/driver/name_lookup.c" /* NOLINT(bugprone-suspicious-include) */
#undef cuGetProcAddress_v2

CUresult cuBrandNew(int *ret_value);
CUresult cuGetProcAddress_v2(const char *name, void **ret_address, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *ret_status);

DRIVER_EXPORT CUresult cuBrandNew(int *ret_value)
{
    *ret_value = 42;
    return CUDA_SUCCESS;
}

extern char brand_new[] __asm__("cuBrandNew");

DRIVER_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **ret_address, int version, uint64_t flags,
                                           CUdriverProcAddressQueryResult *ret_status)
{
    if (!name || strcmp(name, "cuBrandNew") != 0)
        return older_lookup(name, ret_address, version, flags, ret_status);
    *ret_address = brand_new;
    if (ret_status)
        *ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}
