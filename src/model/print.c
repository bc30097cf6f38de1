#include "model/print.h"

#include <inttypes.h>
#include <string.h>

void print_duration(baton_nsec duration, baton_nsec unit, FILE *out)
{
    uint64_t magnitude = duration < 0 ? -(uint64_t)duration : (uint64_t)duration;
    uint64_t rest = magnitude % (uint64_t)unit;
    char digits[24];
    size_t n = 0;

    (void)fprintf(out, "%s%" PRIu64, duration < 0 ? "-" : "", magnitude / (uint64_t)unit);
    if (rest == 0)
        return;
    for (uint64_t place = (uint64_t)unit / 10; place > 0; place /= 10)
        digits[n++] = (char)('0' + rest / place % 10);
    while (n > 0 && digits[n - 1] == '0')
        n--;
    (void)fprintf(out, ".%.*s", (int)n, digits);
}

void print_quoted(const char *text, FILE *out)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}
