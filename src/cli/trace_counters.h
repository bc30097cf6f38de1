/* Counters of a trace: how many programs wait for each engine, and how many commands run on it. */
#ifndef CLI_TRACE_COUNTERS_H
#define CLI_TRACE_COUNTERS_H

#include "cli/recording.h"
#include "report/trace.h"

/* 0 or -ENOMEM. */
int trace_counters_write(const struct trace_recording *recording, struct trace_writer *writer);

#endif
