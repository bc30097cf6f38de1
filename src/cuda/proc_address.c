/*
 * cuGetProcAddress: the driver says which of its functions the name, version and flags mean. The
 * program gets that function's stub, the same address as by dlsym(). The stub of a name that passes
 * jumps to the driver's function.
 *
 * The function is recognised by its address, which is that of an exported symbol with every driver
 * seen so far. A function that is not recognised but belongs to a name of the table is a version
 * that the table lacks. It counts as unknown.
 */
#include <dlfcn.h>
#include <string.h>

#include "cuda/front.h"

/* The index of the symbol at this address of the genuine library, among those of the base. */
static int recognise(const char *base, void *address)
{
    for (unsigned i = 0; i < ENTRY_KNOWN; i++)
        if (strcmp(entry_at(i)->base, base) == 0 && front_genuine(i) == address)
            return (int)i;
    return ENTRY_NONE;
}

/* A name without a row: its stub notices the first call. */
static void *unknown_stub(const char *name, void *address)
{
    int index = entry_for_unknown(name);

    if (index == ENTRY_NONE) {
        front_become_whole(name);
        return address;
    }
    return front_spare(index, address);
}

CUresult route_proc_address(struct call *call)
{
    const char *name = (const char *)call->args[0];
    void **ret_address = (void **)call->args[1];
    CUresult code = call_invoke(call);
    int index;

    if (code != CUDA_SUCCESS || !name || !ret_address || !*ret_address)
        return code;
    index = recognise(name, *ret_address);
    *ret_address = index == ENTRY_NONE ? unknown_stub(name, *ret_address) : front_address((unsigned)index);
    return code;
}
