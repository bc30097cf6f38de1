/* batond's command line: what it says, and its help. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "daemon/config.h"

struct daemon_options {
    const char *socket, /* "": not said */
        *profile, *policy;
    char plan[sizeof((struct config *)NULL)->plan],
        tasks[sizeof((struct config *)NULL)->plan];   /* "": not said */
    char config[sizeof((struct config *)NULL)->plan]; /* "": the usual places */
    char folder[sizeof((struct config *)NULL)->plan]; /* where batond was started */
    double idle_exit_ms;
    bool foreground, shared, check;
};

/*
 * 0, or 2 after the mistake was logged. Answers that need no daemon (--help, --version, the probe) are given here, and the process ends.
 * --log and --log-level take effect at once. Words are borrowed from argv.
 */
int options_parse(int argc, char *argv[], struct daemon_options *ret_options);

/* Logs what the option with this code expects; 2. */
int options_reject(char code, const char *word);

/* batond leaves its working folder for `/`: names of files are made whole while they still mean what they meant. */
void options_make_absolute(const struct daemon_options *options, char *path, size_t size);

#endif
