/* Chunk copies between the host and an OpenCL device, by size and direction. */
#ifndef CLI_MEASURE_COPIES_H
#define CLI_MEASURE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

struct measured_device;

/* The first device; NULL if there is none or it fails. */
struct measured_device *measured_device_open(void);
void measured_device_close(struct measured_device *device);
const char *measured_device_name(const struct measured_device *device);

#define MEASURED_LARGEST ((size_t)1 << 20)

/* n copies of `bytes` (at most MEASURED_LARGEST), in microseconds each. 0 or -EIO. */
int measured_copies(struct measured_device *device, bool out, size_t bytes, size_t n, double ret_us[]);

/* A separate thread that copies continuously until stopped. NULL: it could not be started. */
struct copy_load;
struct copy_load *copy_load_start(void);
void copy_load_stop(struct copy_load *load);

#endif
