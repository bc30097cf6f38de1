/* OpenCL as the engine sees a driver: one table (engine/driver_ops.h). */
#ifndef OPENCL_DRIVER_H
#define OPENCL_DRIVER_H

#include "engine/driver_ops.h"

extern const struct driver_ops opencl_driver;

#endif
