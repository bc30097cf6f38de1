/*
 * What OpenCL offers on this machine. A child process finds out, so that a driver that crashes or
 * hangs does not end `baton`.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Loads the OpenCL loader, with layer (a path, or NULL) announced through OPENCL_LAYERS, and lists
 * what it finds:
 *     {"loader": path, "loader_name": text, "layer_loaded": bool, "platforms": [{"name", "version",
 *      "devices": [{"name", "type", "version", "compute_units", "memory", "copy_engines"}]}]}
 * or {"error": text}. The caller owns the object; NULL only when memory is short.
 */
json_t *probe_opencl(const char *layer);

#endif
