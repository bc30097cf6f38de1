#include "cuda_devices.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "harness.h"

#define BOTH_WAYS(node) "{from: HOST, to: " node ", gbps: 100}, {from: " node ", to: HOST, gbps: 100}"
#define WITHIN(node)    "{from: " node ", to: " node ", gbps: 200}"

/* clang-format off */
const char cuda_devices_topology[] =
    "links: [" BOTH_WAYS("MEM0") ", " BOTH_WAYS("GPU0") ", " BOTH_WAYS("GPU1") ", " BOTH_WAYS("GPU2") ", "
    BOTH_WAYS("GPU3") ", " WITHIN("GPU0") ", " WITHIN("GPU1") ", " WITHIN("GPU2") ", " WITHIN("GPU3") "]\n";
/* clang-format on */

const char cuda_devices_kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .shared .align 4 .b8 room[];\n"
    ".visible .entry add(.param .u64 add_out, .param .u32 add_value)\n{\n"
    "    .reg .b32 %r<8>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [add_out];\n    ld.param.u32 %r1, [add_value];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mul.wide.u32 %rd3, %r5, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    ld.global.u32 %r6, [%rd4];\n    add.s32 %r7, %r6, %r1;\n    st.global.u32 [%rd4], %r7;\n"
    "    ret;\n}\n"
    ".visible .entry reverse(.param .u64 reverse_data)\n{\n"
    "    .reg .b32 %r<14>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [reverse_data];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %rd3, %r4, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    ld.global.u32 %r5, [%rd4];\n    shl.b32 %r6, %r3, 2;\n    mov.u32 %r7, room;\n"
    "    add.s32 %r8, %r7, %r6;\n    st.shared.u32 [%r8], %r5;\n    bar.sync 0;\n"
    "    not.b32 %r9, %r3;\n    add.s32 %r10, %r9, %r2;\n    shl.b32 %r11, %r10, 2;\n"
    "    add.s32 %r12, %r7, %r11;\n    ld.shared.u32 %r13, [%r12];\n    st.global.u32 [%rd4], %r13;\n"
    "    ret;\n}\n";

static void must(CUresult code, const char *what)
{
    ck_assert_msg(code == CUDA_SUCCESS, "%s: %d", what, (int)code);
}

static void open_device(struct cuda_devices *devices, int d)
{
    CUcontext popped;

    must(cuCtxCreate_v2(&devices->context[d], 0, d), "cuCtxCreate");
    must(cuModuleLoadData(&devices->module[d], cuda_devices_kernels), "cuModuleLoadData");
    must(cuModuleGetFunction(&devices->add[d], devices->module[d], "add"), "add");
    must(cuModuleGetFunction(&devices->reverse[d], devices->module[d], "reverse"), "reverse");
    must(cuMemAlloc_v2(&devices->memory[d], CUDA_BYTES), "cuMemAlloc");
    must(cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent");
}

void cuda_devices_open(struct cuda_devices *devices)
{
    char folder[64];
    int n = 0;

    memset(devices, 0, sizeof *devices);
    must(cuInit(0), "cuInit");
    must(cuDeviceGetCount(&n), "cuDeviceGetCount");
    ck_assert_msg(n >= CUDA_DEVICES, "needs BATON_CUDA_CPU_DEVICES=3");
    for (int d = 0; d < CUDA_DEVICES; d++)
        open_device(devices, d);
    devices->up = malloc(CUDA_BYTES);
    devices->down = calloc(1, CUDA_BYTES);
    for (size_t i = 0; i < CUDA_WORDS; i++)
        devices->up[i] = (int)(i * 7 + 1);
    harness_folder(folder);
    (void)snprintf(devices->topology, sizeof devices->topology, "%s/topology.yaml", folder);
    ck_assert_int_eq(
        file_write_atomic(devices->topology, cuda_devices_topology, sizeof cuda_devices_topology - 1), 0);
}

void cuda_devices_close(struct cuda_devices *devices)
{
    for (int d = 0; d < CUDA_DEVICES; d++) {
        if (devices->context[d])
            must(cuCtxDestroy_v2(devices->context[d]), "cuCtxDestroy");
    }
    free(devices->up);
    free(devices->down);
}

const char *cuda_devices_node(int device)
{
    static const char *const names[] = {"GPU0", "GPU1", "GPU2", "GPU3"};

    return names[device];
}

struct baton_batcher *cuda_devices_batcher(const struct cuda_devices *devices, enum baton_method method)
{
    struct baton_cuda_gpu gpus[CUDA_DEVICES];
    struct baton_batcher_config config = {.size = sizeof config,
                                          .topology = devices->topology,
                                          .method = method,
                                          .cuda_gpus = gpus,
                                          .n_cuda_gpus = CUDA_DEVICES};
    struct baton_batcher *batcher = NULL;
    char message[256] = "";

    for (int d = 0; d < CUDA_DEVICES; d++)
        gpus[d] = (struct baton_cuda_gpu){cuda_devices_node(d), devices->context[d], 0};
    ck_assert_msg(baton_batcher_new(&config, &batcher, message, sizeof message) == 0, "%s", message);
    return batcher;
}

struct baton_stream cuda_devices_up(const struct cuda_devices *devices, int to)
{
    return (struct baton_stream){.name = "up",
                                 .from = {.node = "MEM0", .host = devices->up},
                                 .to = {.node = cuda_devices_node(to), .address = devices->memory[to]},
                                 .bytes = CUDA_BYTES};
}

struct baton_stream cuda_devices_down(const struct cuda_devices *devices, int from)
{
    return (struct baton_stream){.name = "down",
                                 .from = {.node = cuda_devices_node(from), .address = devices->memory[from]},
                                 .to = {.node = "MEM0", .host = devices->down},
                                 .bytes = CUDA_BYTES};
}

struct baton_kernel cuda_devices_add(struct cuda_devices *devices, int device, CUdeviceptr address, int value)
{
    devices->address = address;
    devices->value = value;
    devices->args[0] = (struct baton_arg){sizeof devices->address, &devices->address};
    devices->args[1] = (struct baton_arg){sizeof devices->value, &devices->value};
    return (struct baton_kernel){.function = devices->add[device],
                                 .dimensions = 1,
                                 .grid = {CUDA_WORDS / CUDA_BLOCK},
                                 .block = {CUDA_BLOCK},
                                 .args = devices->args,
                                 .n_args = 2,
                                 .predicted_ms = 0.1};
}

void cuda_devices_read(const struct cuda_devices *devices, int device, CUdeviceptr from, void *to,
                       size_t bytes)
{
    CUcontext popped;

    must(cuCtxPushCurrent_v2(devices->context[device]), "cuCtxPushCurrent");
    must(cuMemcpyDtoH_v2(to, from, bytes), "cuMemcpyDtoH");
    must(cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent");
}

void cuda_devices_write(const struct cuda_devices *devices, int device, CUdeviceptr to, const void *from,
                        size_t bytes)
{
    CUcontext popped;

    must(cuCtxPushCurrent_v2(devices->context[device]), "cuCtxPushCurrent");
    must(cuMemcpyHtoD_v2(to, from, bytes), "cuMemcpyHtoD");
    must(cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent");
}
