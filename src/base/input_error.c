#include "base/input_error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FOUND_SHOWN 60 /* characters of the input that a message shows */

static void printable(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; *from && n + 4 < size && n < FOUND_SHOWN; from++)
        to[n++] = isprint((unsigned char)*from) ? *from : '?';
    if (*from && n + 4 < size) {
        memcpy(to + n, "...", 3);
        n += 3;
    }
    to[n] = 0;
}

void input_error_set(struct input_error *ret_error, const char *file, unsigned line, unsigned column,
                     const char *found, const char *expected_format, ...)
{
    va_list arguments;

    *ret_error = (struct input_error){.line = line, .column = column};
    (void)snprintf(ret_error->file, sizeof ret_error->file, "%s", file);
    printable(ret_error->found, sizeof ret_error->found, found);
    va_start(arguments, expected_format);
    (void)vsnprintf(ret_error->expected, sizeof ret_error->expected, expected_format, arguments);
    va_end(arguments);
}

int input_error_format(const struct input_error *error, char *ret_text, size_t size)
{
    if (error->line == 0)
        return snprintf(ret_text, size, "%s: expected %s, found %s", error->file, error->expected,
                        error->found);
    return snprintf(ret_text, size, "%s:%u:%u: expected %s, found %s", error->file, error->line,
                    error->column, error->expected, error->found);
}
