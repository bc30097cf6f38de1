/*
 * The stable name of a device, the same in every process: by PCI address if it has one, else by
 * platform and index. The daemon's probe and the fronts both make it here.
 */
#ifndef WIRE_DEVICE_NAME_H
#define WIRE_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define DEVICE_NAME_SIZE 65 /* with its 0; as in the ATTACH frame */

/* "pci:0000:01:00.0" */
void device_name_pci(unsigned domain, unsigned bus, unsigned device, unsigned function,
                     char ret_name[DEVICE_NAME_SIZE]);

/* The same from "0000:01:00.0". False: the text is no such address. */
bool device_name_bus_id(const char *id, char ret_name[DEVICE_NAME_SIZE]);

/*
 * "portable-computing-language:0": the platform's name in lower case and the device's index.
 * Everything but letters and digits becomes a single dash, and the name is cut to fit. The index
 * counts that platform's devices (CL_DEVICE_TYPE_ALL, in the driver's order).
 */
void device_name_indexed(const char *platform, unsigned index, char ret_name[DEVICE_NAME_SIZE]);

/* What the daemon accepts: 1 to 64 of a-z 0-9 : . - _ */
bool device_name_valid(const char *name);

#endif
