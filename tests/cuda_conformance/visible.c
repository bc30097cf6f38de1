/* CUDA_VISIBLE_DEVICES: which devices a program sees. Each case is a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/*
 * What a process sees on a machine of four devices must be `expected`: the PCI bus of each, in
 * order; and kernels must run on each.
 */
int visible_child(const char *expected)
{
    char seen[64] = "", id[32];
    CUcontext context;
    CUdevice found;
    int n = 0;
    CUresult code;

    setenv("BATON_CUDA_CPU_DEVICES", "4", 1);
    code = cuInit(0);
    if (code != CUDA_SUCCESS)
        return code == CUDA_ERROR_NO_DEVICE && !*expected ? 0 : 11;
    MUST(cuDeviceGetCount(&n));
    for (CUdevice device = 0; device < n && n <= 4; device++) {
        CUuuid uuid;
        char bus[4];
        size_t length = strlen(seen);

        MUST(cuDeviceGetPCIBusId(id, sizeof id, device));
        MUST(cuDeviceGetByPCIBusId(&found, id));
        MUST(cuDeviceGetUuid_v2(&uuid, device));
        snprintf(bus, sizeof bus, "%02X", (unsigned char)uuid.bytes[0]);
        if (found != device || strncmp(bus, id + 5, 2) != 0)
            return 12;
        snprintf(seen + length, sizeof seen - length, "%s%s", device ? " " : "", bus);
        MUST(cuCtxCreate_v2(&context, 0, device));
        MUST(cuModuleLoad(&(CUmodule){0}, kernels_path()));
        MUST(cuCtxSynchronize());
        MUST(cuCtxDestroy_v2(context));
    }
    if (cuDeviceGet(&found, n) != CUDA_ERROR_INVALID_DEVICE)
        return 13;
    if (strcmp(seen, expected) == 0)
        return 0;
    fprintf(stderr, "sees '%s', not '%s'\n", seen, expected);
    return 14;
}

/* The uuids' form is documented; the first byte is the bus (visible_child compares the two). */
void visible_group(void)
{
    static const struct {
        const char *what, *setting, *expected;
    } cases[] = {
        {"all devices in order", "CUDA_VISIBLE_DEVICES=0,1,2,3", "B0 B1 B2 B3"},
        {"one", "CUDA_VISIBLE_DEVICES=2", "B2"},
        {"in the order of the list", "CUDA_VISIBLE_DEVICES=2,1", "B2 B1"},
        {"up to the first invalid number", "CUDA_VISIBLE_DEVICES=0,2,-1,1", "B0 B2"},
        {"a number too large is invalid", "CUDA_VISIBLE_DEVICES=3,4,0", "B3"},
        {"a number that no integer holds", "CUDA_VISIBLE_DEVICES=1,18446744073709551616", "B1"},
        {"a word is invalid", "CUDA_VISIBLE_DEVICES=1,none,0", "B1"},
        {"an empty part as well", "CUDA_VISIBLE_DEVICES=1,,0", "B1"},
        {"spaces do not count", "CUDA_VISIBLE_DEVICES= 3, 0", "B3 B0"},
        {"an empty list", "CUDA_VISIBLE_DEVICES=", ""},
        {"-1", "CUDA_VISIBLE_DEVICES=-1", ""},
        {"NoDevFiles", "CUDA_VISIBLE_DEVICES=NoDevFiles", ""},
        {"a device twice", "CUDA_VISIBLE_DEVICES=0,1,0", ""},
        {"a uuid", "CUDA_VISIBLE_DEVICES=GPU-b1626174-6f6e-2d63-7564-612d63707500", "B1"},
        {"the beginning of one", "CUDA_VISIBLE_DEVICES=GPU-b3,GPU-b1626174", "B3 B1"},
        {"uuids and numbers", "CUDA_VISIBLE_DEVICES=GPU-B2,0", "B2 B0"},
        {"a beginning that all have", "CUDA_VISIBLE_DEVICES=0,GPU-b", "B0"},
        {"a uuid of no device", "CUDA_VISIBLE_DEVICES=GPU-b7,0", ""},
        {"no digit at all", "CUDA_VISIBLE_DEVICES=GPU-", ""},
        {"part of a device", "CUDA_VISIBLE_DEVICES=MIG-b1626174", ""},
    };

    holds("without the variable all devices", run_child("visible", "B0 B1 B2 B3", NULL) == 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        holds(cases[i].what, run_child("visible", cases[i].expected, cases[i].setting) == 0);
}
