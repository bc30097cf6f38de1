/*
 * What OpenCL and CUDA offer on this machine. A child process finds out, so that a driver that
 * crashes or hangs does not end `baton`.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Loads the OpenCL loader, with layer (a path, or NULL) announced through OPENCL_LAYERS. Lists what
 * the loader finds:
 *     {"loader": path, "loader_name": text, "layer_loaded": bool, "platforms": [{"name", "version",
 *      "devices": [{"name", "type", "version", "compute_units", "memory", "copy_engines"}]}]}
 * or {"error": text}. The caller owns the object; NULL only when memory is short.
 */
json_t *probe_opencl(const char *layer);

/*
 * Loads a CUDA driver's library (a path, or a name for the dynamic loader), initialises it and
 * counts its devices.
 *     {"path", "init": cuInit's code, "version": 13000, "devices"}
 *     {"path"}                               it has no cuInit
 *     {"error": text, "missing": bool}       missing: there is no such file
 * Ownership as above.
 */
json_t *probe_cuda(const char *library);

/* Loads a library and calls nothing in it: {"path"}, or an error as above. */
json_t *probe_library(const char *path);

#endif
