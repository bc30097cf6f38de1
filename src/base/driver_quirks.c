#include "base/driver_quirks.h"

#include <stdio.h>
#include <string.h>

#define VERSION(major, minor) ((major)*1000u + (minor))

enum driver_id {
#define DRIVER(identifier, text, name) DRIVER_##identifier,
#define QUIRK(identifier, driver, from, until, devices, what)
#include "base/driver_quirks.def"
#undef DRIVER
#undef QUIRK
};

static const struct {
    const char *text;
    const char *name;
} drivers[] = {
#define DRIVER(identifier, text, name) {text, name},
#define QUIRK(identifier, driver, from, until, devices, what)
#include "base/driver_quirks.def"
#undef DRIVER
#undef QUIRK
};

static const struct {
    enum driver_id driver;
    unsigned from, until;
    const char *devices;
} table[DRIVER_QUIRKS] = {
#define DRIVER(identifier, text, name)
#define QUIRK(identifier, driver, from, until, devices, what) {DRIVER_##driver, from, until, devices},
#include "base/driver_quirks.def"
#undef DRIVER
#undef QUIRK
};

bool driver_quirks_in_range(const char *driver_version, unsigned from, unsigned until)
{
    unsigned major, minor;

    if (sscanf(driver_version, "%u.%u", &major, &minor) != 2)
        return true;
    return VERSION(major, minor) >= from && (!until || VERSION(major, minor) <= until);
}

/* Does the name begin with one of the alternatives? */
static bool begins_with_one(const char *name, const char *alternatives)
{
    size_t length;

    if (!*alternatives || !*name)
        return true;
    for (; *alternatives; alternatives += length + (alternatives[length] == '|')) {
        length = strcspn(alternatives, "|");
        if (strncmp(name, alternatives, length) == 0)
            return true;
    }
    return false;
}

unsigned driver_quirks_of(const char *version, const char *driver_version, const char *device)
{
    unsigned quirks = 0;

    for (unsigned i = 0; i < DRIVER_QUIRKS; i++)
        if (strstr(version, drivers[table[i].driver].text) && begins_with_one(device, table[i].devices) &&
            driver_quirks_in_range(driver_version, table[i].from, table[i].until))
            quirks |= 1u << i;
    return quirks;
}

unsigned driver_quirks_named(const char *name)
{
    unsigned quirks = 0;

    for (unsigned i = 0; i < DRIVER_QUIRKS; i++)
        if (strncmp(name, drivers[table[i].driver].name, strlen(drivers[table[i].driver].name)) == 0)
            quirks |= 1u << i;
    return quirks;
}
