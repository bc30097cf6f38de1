/*
 * A CUDA program whose kernels have C++ names: app::scale<float, 4>(float*), which is cut, and
 * app::wait(int volatile*), which runs whole because its blocks may wait for one another.
 *
 *     mangled      launches both, prints `ready`, and ends with its standard input
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_abi/driver_calls.h"

enum { BLOCKS = 64, THREADS = 32 };

static const char KERNELS[] = ".version 7.0\n"
                              ".target sm_70\n"
                              ".address_size 64\n"
                              ".visible .entry _ZN3app5scaleIfLi4EEEvPT_(.param .u64 values)\n"
                              "{\n"
                              "    .reg .b32 %i, %block, %size, %thread;\n"
                              "    .reg .b64 %base, %offset, %at;\n"
                              "    .reg .f32 %value;\n"
                              "    ld.param.u64 %base, [values];\n"
                              "    mov.u32 %block, %ctaid.x;\n"
                              "    mov.u32 %size, %ntid.x;\n"
                              "    mov.u32 %thread, %tid.x;\n"
                              "    mad.lo.s32 %i, %block, %size, %thread;\n"
                              "    mul.wide.u32 %offset, %i, 4;\n"
                              "    add.s64 %at, %base, %offset;\n"
                              "    ld.global.f32 %value, [%at];\n"
                              "    mul.f32 %value, %value, 0f40800000;\n"
                              "    st.global.f32 [%at], %value;\n"
                              "    ret;\n"
                              "}\n"
                              ".visible .entry _ZN3app4waitEPVi(.param .u64 word)\n"
                              "{\n"
                              "    .reg .pred %p;\n"
                              "    .reg .b32 %value;\n"
                              "    .reg .b64 %at;\n"
                              "    ld.param.u64 %at, [word];\n"
                              "again:\n"
                              "    ld.volatile.global.u32 %value, [%at];\n"
                              "    setp.eq.u32 %p, %value, 0;\n"
                              "    @%p bra again;\n"
                              "    ret;\n"
                              "}\n";

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "mangled: %s: error %d\n", what, (int)code);
    exit(3);
}

int main(void)
{
    float values[BLOCKS * THREADS];
    void *parameters[1];
    CUcontext context;
    CUmodule module;
    CUfunction scale, wait;
    CUdeviceptr memory;

    for (int i = 0; i < BLOCKS * THREADS; i++)
        values[i] = (float)(i + 1);
    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    must(cuModuleLoadData(&module, KERNELS), "cuModuleLoadData");
    must(cuModuleGetFunction(&scale, module, "_ZN3app5scaleIfLi4EEEvPT_"), "cuModuleGetFunction");
    must(cuModuleGetFunction(&wait, module, "_ZN3app4waitEPVi"), "cuModuleGetFunction");
    must(cuMemAlloc_v2(&memory, sizeof values), "cuMemAlloc");
    must(cuMemcpyHtoD_v2(memory, values, sizeof values), "cuMemcpyHtoD");
    parameters[0] = &memory;
    must(cuLaunchKernel(scale, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
    must(cuLaunchKernel(wait, BLOCKS, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
    must(cuMemcpyDtoH_v2(values, memory, sizeof values), "cuMemcpyDtoH");
    for (int i = 0; i < BLOCKS * THREADS; i++)
        if (values[i] != 4 * (float)(i + 1))
            must(CUDA_ERROR_UNKNOWN, "a result is wrong");
    printf("ready\n");
    (void)fflush(stdout);
    (void)getchar();
    must(cuCtxDestroy_v2(context), "cuCtxDestroy");
    return 0;
}
