/* A recording as a picture: `baton trace --gantt`. */
#ifndef CLI_TRACE_PICTURE_H
#define CLI_TRACE_PICTURE_H

#include "base/nsec.h"
#include "cli/recording.h"

/*
 * Draws what happened in the last part of the recording, of that length. Each GPU has a row for
 * each token that was held at the same time. Each engine that ran something has a row. Each program
 * has a row with its jobs from release to completion. Rows in which nothing happened are left out.
 * Times count from the beginning of the first bar. 0 or -errno.
 */
int trace_picture_write(const struct trace_recording *recording, baton_nsec last, const char *path);

#endif
