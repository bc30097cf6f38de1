#include "wire/device_name.h"

#include <stdio.h>
#include <string.h>

void device_name_pci(unsigned domain, unsigned bus, unsigned device, unsigned function,
                     char ret_name[DEVICE_NAME_SIZE])
{
    (void)snprintf(ret_name, DEVICE_NAME_SIZE, "pci:%04x:%02x:%02x.%x", domain, bus, device, function);
}

bool device_name_bus_id(const char *id, char ret_name[DEVICE_NAME_SIZE])
{
    unsigned domain, bus, device, function;

    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return false;
    device_name_pci(domain, bus, device, function, ret_name);
    return true;
}

/* Not isalnum(): the name must not depend on the process's locale. */
static char plain(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

void device_name_indexed(const char *platform, unsigned index, char ret_name[DEVICE_NAME_SIZE])
{
    char slug[48];
    size_t n = 0;

    for (; *platform && n < sizeof slug - 1; platform++) {
        char c = plain(*platform);

        if (c != '-' || (n > 0 && slug[n - 1] != '-'))
            slug[n++] = c;
    }
    while (n > 0 && slug[n - 1] == '-')
        n--;
    slug[n] = 0;
    (void)snprintf(ret_name, DEVICE_NAME_SIZE, "%s:%u", n ? slug : "device", index);
}

bool device_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789:.-_");

    return length > 0 && length < DEVICE_NAME_SIZE && !name[length];
}
