#include "client/settings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPECTED_TEXT      "a text of at most 1023 bytes"
#define EXPECTED_FLAG      "0 or 1"
#define EXPECTED_PRIORITY  "adaptive, or a whole number from 1 to 99"
#define EXPECTED_DURATION  "a number of milliseconds above 0"
#define EXPECTED_AMOUNT    "auto, off, or a whole number above 0"
#define EXPECTED_COUNT     "a whole number from 0 to 1000000"
#define EXPECTED_BYTES     "auto, off, or a size (bytes, or with kB MB GB KiB MiB GiB)"
#define EXPECTED_GPUS      "auto, all, or a whole number from 1 to 64"
#define EXPECTED_PLACEMENT "fixed, chosen or any"
#define EXPECTED_BINARIES  "auto, keep or refuse"

const struct setting_entry setting_entries[] = {
#define SETTING(kind, identifier, option, variable, value, help)                                             \
    {#identifier, option, variable, value, EXPECTED_##kind, help},
#include "client/settings.def"
#undef SETTING
};
const size_t setting_n_entries = sizeof setting_entries / sizeof setting_entries[0];

/* ---- one parser per kind: 0 or -EINVAL ---- */

static int parse_TEXT(const char *text, char *ret_value)
{
    if (strlen(text) >= SETTING_TEXT_SIZE)
        return -EINVAL;
    memcpy(ret_value, text, strlen(text) + 1);
    return 0;
}

static int parse_FLAG(const char *text, bool *ret_value)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return -EINVAL;
    *ret_value = text[0] == '1';
    return 0;
}

static int parse_whole(const char *text, int64_t high, int64_t *ret_value)
{
    char *end;
    long long value;

    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end || errno || value < 1 || value > high)
        return -EINVAL;
    *ret_value = value;
    return 0;
}

static int parse_PRIORITY(const char *text, int *ret_value)
{
    int64_t value = SETTING_PRIORITY_ADAPTIVE;

    if (strcmp(text, "adaptive") != 0 && parse_whole(text, 99, &value) < 0)
        return -EINVAL;
    *ret_value = (int)value;
    return 0;
}

static int parse_DURATION(const char *text, baton_nsec *ret_value)
{
    char *end;
    double value;

    if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
        return -EINVAL;
    value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0 || value > 1e12)
        return -EINVAL;
    *ret_value = (baton_nsec)ceil(value * (double)NSEC_PER_MS);
    return 0;
}

static int parse_AMOUNT(const char *text, int64_t *ret_value)
{
    if (strcmp(text, "auto") == 0)
        *ret_value = SETTING_AUTO;
    else if (strcmp(text, "off") == 0)
        *ret_value = SETTING_OFF;
    else
        return parse_whole(text, INT64_MAX, ret_value);
    return 0;
}

static int parse_COUNT(const char *text, int64_t *ret_value)
{
    if (strcmp(text, "0") != 0)
        return parse_whole(text, 1000000, ret_value);
    *ret_value = 0;
    return 0;
}

static int parse_BYTES(const char *text, int64_t *ret_value)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},     {"B", 1},      {"kB", 1e3},      {"MB", 1e6},
                 {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    char *end;
    double value;

    if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0)
        return parse_AMOUNT(text, ret_value);
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    value = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0 && value * units[i].factor >= 1 &&
            value * units[i].factor < 9e18) {
            *ret_value = (int64_t)(value * units[i].factor);
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_GPUS(const char *text, int64_t *ret_value)
{
    if (strcmp(text, "auto") == 0)
        *ret_value = SETTING_AUTO;
    else if (strcmp(text, "all") == 0)
        *ret_value = SETTING_ALL;
    else
        return parse_whole(text, 64, ret_value);
    return 0;
}

static int parse_PLACEMENT(const char *text, enum setting_placement *ret_value)
{
    static const char *const names[] = {"", "fixed", "chosen", "any"};

    for (int i = SETTING_PLACEMENT_FIXED; i <= SETTING_PLACEMENT_ANY; i++)
        if (strcmp(text, names[i]) == 0) {
            *ret_value = (enum setting_placement)i;
            return 0;
        }
    return -EINVAL;
}

static int parse_BINARIES(const char *text, enum setting_binaries *ret_value)
{
    static const char *const names[] = {"auto", "keep", "refuse"};

    for (int i = SETTING_BINARIES_AUTO; i <= SETTING_BINARIES_REFUSE; i++)
        if (strcmp(text, names[i]) == 0) {
            *ret_value = (enum setting_binaries)i;
            return 0;
        }
    return -EINVAL;
}

/* TEXT fields are arrays, the others scalars. */
#define ADDRESS_TEXT(settings, identifier)      (settings)->identifier
#define ADDRESS_FLAG(settings, identifier)      &(settings)->identifier
#define ADDRESS_PRIORITY(settings, identifier)  &(settings)->identifier
#define ADDRESS_DURATION(settings, identifier)  &(settings)->identifier
#define ADDRESS_AMOUNT(settings, identifier)    &(settings)->identifier
#define ADDRESS_COUNT(settings, identifier)     &(settings)->identifier
#define ADDRESS_BYTES(settings, identifier)     &(settings)->identifier
#define ADDRESS_GPUS(settings, identifier)      &(settings)->identifier
#define ADDRESS_PLACEMENT(settings, identifier) &(settings)->identifier
#define ADDRESS_BINARIES(settings, identifier)  &(settings)->identifier

int settings_set(struct settings *settings, const char *name, const char *text)
{
#define SETTING(kind, identifier, option, variable, value, help)                                             \
    if (strcmp(name, #identifier) == 0)                                                                      \
        return parse_##kind(text, ADDRESS_##kind(settings, identifier));
#include "client/settings.def"
#undef SETTING
    return -EINVAL;
}

void settings_init(struct settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->slice = SETTING_AUTO;
    settings->chunk = SETTING_AUTO;
    settings->warm = SETTING_AUTO;
    settings->gpus = SETTING_OFF; /* not given: as the plan says, else one */
}

void settings_from_environment(struct settings *ret_settings, const char **ret_bad)
{
    settings_init(ret_settings);
    *ret_bad = NULL;
    for (size_t i = 0; i < setting_n_entries; i++) {
        const char *text = getenv(setting_entries[i].variable);

        if (text && text[0] && settings_set(ret_settings, setting_entries[i].name, text) < 0 && !*ret_bad)
            *ret_bad = setting_entries[i].variable;
    }
}
