/* Chunk copies between the host and an OpenCL device, by size and direction. */
#ifndef CLI_MEASURE_COPIES_H
#define CLI_MEASURE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

struct measured_device;

/* The first device there is; NULL where there is none or it refuses. */
struct measured_device *measured_device_open(void);
void measured_device_close(struct measured_device *device);
const char *measured_device_name(const struct measured_device *device);

#define MEASURED_LARGEST ((size_t)1 << 20)

/* n copies of so many bytes (at most MEASURED_LARGEST), in microseconds each. 0 or -EIO. */
int measured_copies(struct measured_device *device, bool out, size_t bytes, size_t n, double ret_us[]);

/* A thread of its own that copies all the time, until stopped. NULL: none could be started. */
struct copy_load;
struct copy_load *copy_load_start(void);
void copy_load_stop(struct copy_load *load);

#endif
