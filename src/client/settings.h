/*
 * What a user may set for one program: read from BATON_* variables, which `baton run` sets from its
 * options of the same names. The table is client/settings.def.
 */
#ifndef CLIENT_SETTINGS_H
#define CLIENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"

#define SETTING_TEXT_SIZE 1024 /* longest text value, with its 0 */

/* Values of AMOUNT, BYTES and GPUS settings besides a number above 0. */
#define SETTING_AUTO INT64_C(-1)
#define SETTING_OFF  INT64_C(0)
#define SETTING_ALL  INT64_C(-2)

/* Values of PRIORITY settings besides 1..99. */
#define SETTING_PRIORITY_UNSET    0
#define SETTING_PRIORITY_ADAPTIVE (-1)

/* Values of PLACEMENT settings: which GPU a job of a program for one device runs on. */
enum setting_placement {
    SETTING_PLACEMENT_UNSET,  /* as the plan says; without one: fixed */
    SETTING_PLACEMENT_FIXED,  /* the GPU that the program chose */
    SETTING_PLACEMENT_CHOSEN, /* the daemon's choice, per job */
    SETTING_PLACEMENT_ANY,    /* any GPU that is free when a kernel begins */
};

/* Values of BINARIES settings. Programs made from binaries without a known source run whole. */
enum setting_binaries {
    SETTING_BINARIES_AUTO,   /* marks the driver's version, so that caches of binaries are rebuilt */
    SETTING_BINARIES_KEEP,   /* as without Baton */
    SETTING_BINARIES_REFUSE, /* also answers CL_INVALID_BINARY */
};

/* A text that is not given is "", a duration 0, a count SETTING_AUTO. */
struct settings {
#define SETTING_FIELD_TEXT(identifier)                           char identifier[SETTING_TEXT_SIZE];
#define SETTING_FIELD_FLAG(identifier)                           bool identifier;
#define SETTING_FIELD_PRIORITY(identifier)                       int identifier;
#define SETTING_FIELD_DURATION(identifier)                       baton_nsec identifier;
#define SETTING_FIELD_AMOUNT(identifier)                         int64_t identifier;
#define SETTING_FIELD_COUNT(identifier)                          int64_t identifier;
#define SETTING_FIELD_BYTES(identifier)                          int64_t identifier;
#define SETTING_FIELD_GPUS(identifier)                           int64_t identifier;
#define SETTING_FIELD_PLACEMENT(identifier)                      enum setting_placement identifier;
#define SETTING_FIELD_BINARIES(identifier)                       enum setting_binaries identifier;
#define SETTING(kind, identifier, option, variable, value, help) SETTING_FIELD_##kind(identifier)
#include "client/settings.def"
#undef SETTING
};

/* One line of the table, for help and the parser. */
struct setting_entry {
    const char *name;     /* "require_daemon" */
    const char *option;   /* "require-daemon" */
    const char *variable; /* "BATON_REQUIRE_DAEMON" */
    const char *value;    /* "1..99|adaptive"; NULL: a flag */
    const char *expected; /* "adaptive, or a whole number from 1 to 99": what settings_set() takes */
    const char *help;
};

extern const struct setting_entry setting_entries[];
extern const size_t setting_n_entries;

/*
 * Every setting at its default: auto, not given, false; gpus SETTING_OFF: the plan decides, else
 * one.
 */
void settings_init(struct settings *settings);

/* Sets one value. 0, or -EINVAL (unknown name or invalid value; settings are unchanged). */
int settings_set(struct settings *settings, const char *name, const char *text);

/*
 * Reads the environment. A variable with a bad value keeps its default and is named in *ret_bad
 * (borrowed from the table; NULL: none). A program must not fail because of a typing error that
 * `baton run` would have refused.
 */
void settings_from_environment(struct settings *ret_settings, const char **ret_bad);

#endif
