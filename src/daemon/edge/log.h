/*
 * batond's log: the system's (the journal reads it), a file, or standard error. Called by
 * the daemon's only thread. A line is written at once, or dropped if writing
 * would block: a stopped reader of the log must not stop the daemon.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <stdbool.h>

/* The most urgent first; a line is written if its level is at least as urgent as the chosen one. */
enum log_level {
#define LEVEL(identifier, name, priority, help) LOG_LEVEL_##identifier,
#include "daemon/edge/log_levels.def"
#undef LEVEL
    LOG_LEVELS
};

extern const char *const log_level_names[LOG_LEVELS];

struct log {
    enum log_level level;
    int file; /* -1: none */
    bool system;
    char path[4096];
};

/* -1: no such level. */
int log_level_find(const char *name);

/* Lines below this level are left out; LOG_LEVEL_INFO at first. */
void log_set_level(enum log_level level);

/* Appends to this file (copied, absolute). 0, or -errno and the log stays where it was. */
int log_to_file(const char *path);

/* To the system's log, unless a file was chosen. Called when batond goes to the background. */
void log_to_system(void);

/* The file was moved away (logrotate): starts a new one. */
void log_reopen(void);

void log_say(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
