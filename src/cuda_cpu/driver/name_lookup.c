/*
 * cuGetProcAddress: the newest form of a name that is no newer than the version that the program
 * asks for.
 */
#include <stdint.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"

enum lookup_form { PLAIN, PTDS, PTSZ };

struct name_row {
    const char *base;
    int since;
    enum lookup_form form;
    void *address;
};

/* Every exported name is defined in this library, unsupported ones in unsupported.c. */
#define NAME(symbol, base, since, form) extern char symbol##_address[] __asm__(#symbol);
#include "cuda_abi/names.def"
#undef NAME

static const struct name_row rows[] = {
#define NAME(symbol, base, since, form) {#base, since, form, symbol##_address},
#include "cuda_abi/names.def"
#undef NAME
};

/* The newest row of the base in this form (or the other one) up to the version; NULL: none. */
static const struct name_row *newest(const char *base, int version, bool per_thread, bool *ret_known)
{
    const struct name_row *found = NULL;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct name_row *row = &rows[i];

        if (strcmp(row->base, base) != 0)
            continue;
        *ret_known = true;
        if (row->since > version || (row->form != PLAIN) != per_thread)
            continue;
        if (!found || row->since > found->since)
            found = row;
    }
    return found;
}

DRIVER_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **ret_address, int version, uint64_t flags,
                                           CUdriverProcAddressQueryResult *ret_status)
{
    CUresult code = api_enter(__func__, API_NOTHING);
    const struct name_row *row = NULL;
    bool known = false;

    if (code != CUDA_SUCCESS)
        return code;
    if (!name || !ret_address || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
        version > CUDA_ABI_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        row = newest(name, version, true, &known);
    if (!row)
        row = newest(name, version, false, &known);
    *ret_address = row ? row->address : NULL;
    if (ret_status)
        *ret_status = row     ? CU_GET_PROC_ADDRESS_SUCCESS
                      : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return row ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DRIVER_EXPORT CUresult cuGetProcAddress(const char *name, void **ret_address, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, ret_address, version, flags, NULL);
}

/*
 * Undocumented tables of functions that a statically linked runtime asks for at its first call, as
 * observed with programs built with CUDA 13. The runtime cannot work without these tables. Other
 * libraries (NVRTC) ask for other tables and work without them.
 */
static const CUuuid runtime_tables[] = {
    {"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"},
    {"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9"},
};

static bool is_of_runtime(const CUuuid *id)
{
    for (size_t i = 0; i < sizeof runtime_tables / sizeof *runtime_tables; i++) {
        if (memcmp(id, &runtime_tables[i], sizeof *id) == 0)
            return true;
    }
    return false;
}

/*
 * Answers the error of a driver without the table. For the runtime's tables it first prints one
 * sentence.
 */
DRIVER_EXPORT CUresult cuGetExportTable(const void **ret_table, const CUuuid *id)
{
    if (!ret_table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_table = NULL;
    if (is_of_runtime(id) && !atomic_exchange(&driver.static_runtime_refused, true))
        api_refuse_static_runtime();
    return CUDA_ERROR_NOT_FOUND;
}
