#include "cuda_cpu/driver/visible.h"

#include "cuda_cpu/driver/scripted.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NONE = -1, UUID_TEXT = 4 + 32 + 4 + 1 };

void visible_uuid(unsigned device, char ret_bytes[VISIBLE_UUID_BYTES])
{
    memset(ret_bytes, 0, VISIBLE_UUID_BYTES);
    ret_bytes[0] = (char)(VISIBLE_PCI_BUS + device);
    strcpy(ret_bytes + 1, "baton-cuda-cpu"); /* 14 letters and the last byte */
}

/* GPU-b0626174-6f6e-... */
static void write_uuid(unsigned device, char ret_text[UUID_TEXT])
{
    char bytes[VISIBLE_UUID_BYTES];
    int n = sprintf(ret_text, "GPU-");

    visible_uuid(device, bytes);
    for (int i = 0; i < VISIBLE_UUID_BYTES; i++)
        n += sprintf(ret_text + n, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                     (unsigned char)bytes[i]);
}

static int find_uuid(const char *part, size_t length, unsigned n_devices)
{
    char text[UUID_TEXT];
    int found = NONE;

    if (length <= strlen("GPU-") || length >= UUID_TEXT)
        return NONE;
    for (unsigned device = 0; device < n_devices; device++) {
        write_uuid(device, text);
        if (strncasecmp(part, text, length) != 0)
            continue;
        if (found != NONE)
            return NONE;
        found = (int)device;
    }
    return found;
}

static int find_number(const char *part, size_t length, unsigned n_devices)
{
    unsigned number = 0;

    if (length == 0)
        return NONE;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)part[i]))
            return NONE;
        number = number * 10 + (unsigned)(part[i] - '0');
        if (number >= n_devices)
            return NONE;
    }
    return (int)number;
}

/* One part of the list, up to `end`; surrounding spaces do not count. */
static int find_device(const char *part, const char *end, unsigned n_devices)
{
    while (part < end && isspace((unsigned char)*part))
        part++;
    while (end > part && isspace((unsigned char)end[-1]))
        end--;
    return strncasecmp(part, "GPU-", 4) == 0 ? find_uuid(part, (size_t)(end - part), n_devices)
                                             : find_number(part, (size_t)(end - part), n_devices);
}

unsigned visible_read(const char *text, unsigned n_devices, unsigned ret_devices[])
{
    unsigned n = 0;
    bool more = true;

    if (!text) {
        for (; n < n_devices; n++)
            ret_devices[n] = n;
        return n;
    }
    while (more) {
        const char *end = strchrnul(text, ',');
        int device = find_device(text, end, n_devices);

        if (device == NONE)
            return n;
        for (unsigned i = 0; i < n; i++)
            if (ret_devices[i] == (unsigned)device)
                return 0;
        ret_devices[n++] = (unsigned)device;
        more = *end == ',';
        text = end + 1;
    }
    return n;
}

unsigned visible_pci_domain(void)
{
    return scripted_any() ? 0 : VISIBLE_PCI_DOMAIN;
}
