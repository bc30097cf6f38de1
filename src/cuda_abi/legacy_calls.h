/* Calls of the driver API that precede cuLaunchKernel, and calls for tools: see driver_calls.h. */
#ifndef CUDA_ABI_LEGACY_CALLS_H
#define CUDA_ABI_LEGACY_CALLS_H

#include "cuda_abi/graph_abi.h"

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes);
CUresult cuParamSetSize(CUfunction function, unsigned int bytes);
CUresult cuParamSeti(CUfunction function, int offset, unsigned int value);
CUresult cuParamSetf(CUfunction function, int offset, float value);
CUresult cuParamSetv(CUfunction function, int offset, void *value, unsigned int bytes);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags);

#endif
