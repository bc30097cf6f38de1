/*
 * The macros that a driver defines before it reads the program, as far as the device's description
 * shows them.
 */
#ifndef TRANSLATE_TOOL_DRIVER_MACROS_H
#define TRANSLATE_TOOL_DRIVER_MACROS_H

#include "translate/tool/tool_options.h"
#include "translate/tool/preprocess.h"

struct driver {
    const char *version;    /* CL_DEVICE_VERSION: also identifies the driver */
    const char *c_version;  /* CL_DEVICE_OPENCL_C_VERSION */
    const char *extensions; /* each list separated by spaces */
    const char *features;
    const char *defines;
    unsigned address_bits;
    bool images;
    bool little_endian;
};

void driver_macros(struct preprocessor *pp, const struct driver *driver, const struct options *options);

/* The language version for parsing: the given -cl-std, or the driver's default. */
const char *driver_standard(const struct driver *driver, const struct options *options);

/*
 * Clang's -cl-ext for exactly what the device offers. Clang's own headers use the names of
 * everything that clang knows (half2, queue_t). A program for a device without them may use such a
 * name for its own purposes.
 */
const char *driver_extensions(const struct driver *driver);

#endif
