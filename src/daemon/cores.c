#include "daemon/cores.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

unsigned core_set_count(const struct core_set *set)
{
    unsigned n = 0;

    for (size_t i = 0; i < CORES_MAX / 64; i++)
        n += (unsigned)__builtin_popcountll(set->bits[i]);
    return n;
}

struct core_set core_set_both(const struct core_set *a, const struct core_set *b)
{
    struct core_set both;

    for (size_t i = 0; i < CORES_MAX / 64; i++)
        both.bits[i] = a->bits[i] & b->bits[i];
    return both;
}

struct core_set core_set_without(const struct core_set *a, const struct core_set *b)
{
    struct core_set rest;

    for (size_t i = 0; i < CORES_MAX / 64; i++)
        rest.bits[i] = a->bits[i] & ~b->bits[i];
    return rest;
}

/* Reads a core's number at *at, and moves *at behind it. */
static int parse_core(const char **at, unsigned *ret_core)
{
    char *end;
    unsigned long core;

    if (!isdigit((unsigned char)**at))
        return -EINVAL;
    core = strtoul(*at, &end, 10);
    if (core >= CORES_MAX)
        return -EINVAL;
    *at = end;
    *ret_core = (unsigned)core;
    return 0;
}

int core_set_parse(const char *text, struct core_set *ret_set)
{
    struct core_set set = {0};

    while (*text == ' ' || *text == '\t')
        text++;
    while (*text && *text != '\n') {
        unsigned first;
        unsigned last;

        if (parse_core(&text, &first))
            return -EINVAL;
        last = first;
        if (*text == '-') {
            text++;
            if (parse_core(&text, &last) || last < first)
                return -EINVAL;
        }
        for (unsigned core = first; core <= last; core++)
            core_set_add(&set, core);
        if (*text == ',')
            text++;
        else if (*text && *text != '\n')
            return -EINVAL;
    }
    *ret_set = set;
    return 0;
}

void core_set_print(const struct core_set *set, char *ret_text, size_t size)
{
    size_t n = 0;

    (void)snprintf(ret_text, size, "none");
    for (unsigned core = 0; core < CORES_MAX && n < size; core++) {
        unsigned last = core;

        if (!core_set_has(set, core))
            continue;
        while (core_set_has(set, last + 1))
            last++;
        n += (size_t)snprintf(ret_text + n, size - n, last > core ? "%s%u-%u" : "%s%u", n ? "," : "", core,
                              last);
        core = last;
    }
}
