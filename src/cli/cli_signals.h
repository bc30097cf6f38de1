/* The one state of the program: what its signal handlers tell the running command, or need. */
#ifndef CLI_CLI_SIGNALS_H
#define CLI_CLI_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>

struct cli_signals {
    volatile sig_atomic_t stopped, resized; /* baton top */
    volatile sig_atomic_t program;          /* baton run: which gets its signals; 0: none runs */
    atomic_bool stop;                       /* baton study run; its threads look at it */
};

extern struct cli_signals cli_signals;

#endif
