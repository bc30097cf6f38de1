/* batond's command line and its help. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "daemon/config.h"

struct daemon_options {
    const char *profile, *policy;
    char socket[sizeof((struct config *)NULL)->plan]; /* "": not given; absolute if that fits a socket */
    char plan[sizeof((struct config *)NULL)->plan],
        tasks[sizeof((struct config *)NULL)->plan];   /* "": not given */
    char config[sizeof((struct config *)NULL)->plan]; /* "": the default places */
    char folder[sizeof((struct config *)NULL)->plan]; /* where batond was started */
    double idle_exit_ms;
    bool foreground, shared, check;
};

/*
 * 0, or 2 after the mistake was logged. Answers that need no daemon (--help, --version, the probe)
 * are given here, and the process ends. --log and --log-level take effect at once. Words are
 * borrowed from argv.
 */
int options_parse(int argc, char *argv[], struct daemon_options *ret_options);

/* Logs what the option with this code expects; 2. */
int options_reject(char code, const char *word);

/* Makes a file name absolute, because batond later leaves its working folder for `/`. */
void options_make_absolute(const struct daemon_options *options, char *path, size_t size);

#endif
