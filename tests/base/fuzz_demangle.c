/*
 * Any bytes as names, one a line. The answer is within the buffer, and the same in any larger one.
 * A name that is not mangled stays as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "fuzz.h"

static void try_name(const char *name)
{
    char text[DEMANGLE_SIZE];
    char large[4 * DEMANGLE_SIZE];
    int result = demangle_declaration(name, large, sizeof large);

    if (result != 0 && result != -EINVAL && result != -ENAMETOOLONG)
        abort();
    if (result == 0 && (strncmp(name, "_Z", 2) != 0 || strlen(large) >= sizeof large))
        abort();
    for (size_t size = 1; size <= sizeof text; size = size * 2 + 1) {
        demangle_kernel(name, text, size);
        if (strlen(text) >= size)
            abort();
    }
    demangle_kernel(name, text, sizeof text);
    if (strncmp(name, "_Z", 2) != 0 && strncmp(text, name, sizeof text - 1) != 0)
        abort();
    if (result == 0 && strlen(large) < sizeof text && !strchr(large, '<') && !strstr(large, text))
        abort(); /* the short form is a part of the long one */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char *rest = text;
    char *name;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    while ((name = strsep(&rest, "\n")))
        try_name(name);
    free(text);
    return 0;
}
