/* The one state of batond. The header of the module that uses a member describes it. */
#ifndef DAEMON_EDGE_BATOND_H
#define DAEMON_EDGE_BATOND_H

#include "daemon/edge/log.h"
#include "daemon/edge/loop.h"
#include "daemon/edge/options.h"

struct batond {
    struct daemon_options options;
    bool loaded; /* `baton load` has replaced the plan and the tasks of the configuration (options) */
    struct loop loop;
    struct log log;
};

extern struct batond batond;

#endif
