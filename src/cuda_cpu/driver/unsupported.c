/*
 * Names that libcuda.so.1 exports and this library does not implement. Each answers
 * CUDA_ERROR_NOT_SUPPORTED and tells the user once. A definition elsewhere replaces the weak one
 * here.
 */
#include "cuda_cpu/driver/driver_state.h"

#define NAME(symbol, base, since, form)                                                                      \
    __attribute__((weak, visibility("default"))) CUresult unsupported_##symbol(void) __asm__(#symbol);       \
    CUresult unsupported_##symbol(void)                                                                      \
    {                                                                                                        \
        return api_unsupported(#symbol, &driver.said[SAID_##symbol]);                                        \
    }
#include "cuda_abi/names.def"
#undef NAME
