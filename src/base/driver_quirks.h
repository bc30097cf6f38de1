/*
 * The quirks of drivers (base/driver_quirks.def), found by what is known of a device. Other code
 * asks for a quirk, never for a driver. Pure and thread-safe.
 */
#ifndef BASE_DRIVER_QUIRKS_H
#define BASE_DRIVER_QUIRKS_H

#include <stdbool.h>

enum driver_quirk {
#define DRIVER(identifier, text, name)
#define QUIRK(identifier, driver, from, until, devices, what) QUIRK_##identifier,
#include "base/driver_quirks.def"
#undef DRIVER
#undef QUIRK
    DRIVER_QUIRKS
};

/*
 * The quirks of a device, a bit each. version: CL_DEVICE_VERSION, or CUDA's name of the device.
 * driver_version: CL_DRIVER_VERSION; device: CL_DEVICE_NAME. "": not known, so it matches every
 * row; a device whose `version` is not known has no quirks.
 */
unsigned driver_quirks_of(const char *version, const char *driver_version, const char *device);

/* The same by the device's stable name (wire/device_name.h), which says only the driver. */
unsigned driver_quirks_named(const char *name);

static inline bool driver_quirks_have(unsigned quirks, enum driver_quirk quirk)
{
    return quirks >> quirk & 1;
}

/*
 * Is this CL_DRIVER_VERSION in the range of a row? from and until: 1000 times the major version and
 * the minor one, 0: open. A text that does not begin with two numbers is in every range.
 */
bool driver_quirks_in_range(const char *driver_version, unsigned from, unsigned until);

#endif
