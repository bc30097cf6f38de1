#include "makespan/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"

struct kernel_builder {
    uint8_t *units;
    size_t n, room;
};

/* Appends times letters; -ENOMEM, or -EFBIG past KERNEL_MAX_INSTRUCTIONS. */
static int append(struct kernel_builder *builder, enum kernel_unit unit, size_t times)
{
    if (times > KERNEL_MAX_INSTRUCTIONS - builder->n)
        return -EFBIG;
    if (builder->n + times > builder->room) {
        size_t room = builder->room ? builder->room : 64;
        uint8_t *units;

        while (room < builder->n + times)
            room *= 2;
        units = realloc(builder->units, room);
        if (!units)
            return -ENOMEM;
        builder->units = units;
        builder->room = room;
    }
    if (times)
        memset(builder->units + builder->n, unit, times);
    builder->n += times;
    return 0;
}

static int reject(struct input_error *ret_error, const char *name, size_t at, const char *text, size_t length,
                  const char *expected)
{
    char found[17] = "the end";

    if (at < length) {
        size_t shown = length - at < sizeof found - 1 ? length - at : sizeof found - 1;

        memcpy(found, text + at, shown);
        found[shown] = 0;
    }
    return input_reject(ret_error, name, 1, (unsigned)(at + 1), found, "%s", expected);
}

/* A decimal count at *at, 1 if there is none; false when it is 0 or too large. */
static int read_count(const char *text, size_t length, size_t *at, size_t *ret_count)
{
    size_t count = 0;

    if (*at >= length || !isdigit((unsigned char)text[*at])) {
        *ret_count = 1;
        return 1;
    }
    for (; *at < length && isdigit((unsigned char)text[*at]); ++*at) {
        count = count * 10 + (size_t)(text[*at] - '0');
        if (count > KERNEL_MAX_INSTRUCTIONS)
            return 0;
    }
    *ret_count = count;
    return count > 0;
}

int kernel_parse(const char *text, size_t length, const char *name, struct kernel *ret_kernel,
                 struct input_error *ret_error)
{
    struct kernel_builder builder = {0};
    size_t at = 0;
    int result;

    for (;;) {
        const char *letter;
        size_t begin, count;

        while (at < length && isspace((unsigned char)text[at]))
            at++;
        if (at >= length)
            break;
        begin = at;
        if (text[at] == '/') {
            if (builder.n)
                builder.units[builder.n - 1] |= KERNEL_BARRIER;
            at++;
            continue;
        }
        if (!read_count(text, length, &at, &count)) {
            result = reject(ret_error, name, begin, text, length, "a count from 1 to 1048576");
            goto fail;
        }
        letter = at < length && text[at] ? strchr(UNIT_LETTERS, text[at]) : NULL;
        if (!letter) {
            result = reject(ret_error, name, at, text, length, "one of the letters L, C, S, D, or /");
            goto fail;
        }
        result = append(&builder, (enum kernel_unit)(letter - UNIT_LETTERS), count);
        if (result == -EFBIG)
            result = reject(ret_error, name, begin, text, length, "at most 1048576 instructions");
        if (result)
            goto fail;
        at++;
    }
    if (builder.n == 0) {
        result = reject(ret_error, name, length, text, length, "an instruction string over L, C, S, D");
        goto fail;
    }
    *ret_kernel = (struct kernel){.units = builder.units, .n = builder.n};
    return 0;
fail:
    free(builder.units);
    return result;
}

void kernel_done(struct kernel *kernel)
{
    free(kernel->units);
    *kernel = (struct kernel){0};
}

char *kernel_format(const uint8_t *units, size_t n)
{
    struct draft draft;
    char *text = NULL;
    size_t size;

    if (draft_begin(&draft) < 0)
        return NULL;
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && units[i + run - 1] == KERNEL_UNIT(units[i + run]);)
            run++;
        if (run > 1)
            (void)fprintf(draft.out, "%zu", run);
        (void)fputc(UNIT_LETTERS[KERNEL_UNIT(units[i])], draft.out);
        if (units[i + run - 1] & KERNEL_BARRIER)
            (void)fputc('/', draft.out);
    }
    (void)draft_take(&draft, 0, &text, &size);
    return text;
}

/* How often each unit's instructions are repeated, and the capacities that go with it. */
static void normal_units(const struct kernel_timing *timing, unsigned capacity[N_UNITS],
                         size_t ret_times[N_UNITS])
{
    for (size_t u = 0; u < N_UNITS; u++) {
        ret_times[u] = timing->latency[u] ? timing->latency[u] : 1;
        if (timing->count[u] == 0)
            continue;
        if (timing->count[u] < timing->warp_size) {
            ret_times[u] *= (timing->warp_size + timing->count[u] - 1) / timing->count[u];
            capacity[u] = 1;
        } else {
            capacity[u] = timing->count[u] / timing->warp_size;
        }
    }
}

void kernel_weights(const struct kernel_timing *timing, const unsigned capacity[N_UNITS],
                    double ret_weights[N_UNITS])
{
    unsigned after[N_UNITS];
    size_t times[N_UNITS];

    memcpy(after, capacity, sizeof after);
    normal_units(timing, after, times);
    for (size_t u = 0; u < N_UNITS; u++)
        ret_weights[u] = (double)times[u] / after[u];
}

int kernel_normalise(const struct kernel *kernel, const struct kernel_timing *timing,
                     unsigned capacity[N_UNITS], struct kernel *ret_kernel, struct input_error *ret_error)
{
    struct kernel_builder builder = {0};
    size_t times[N_UNITS];
    int result;

    normal_units(timing, capacity, times);
    for (size_t i = 0; i < kernel->n; i++) {
        enum kernel_unit unit = KERNEL_UNIT(kernel->units[i]);

        result = append(&builder, unit, times[unit]);
        if (result) {
            free(builder.units);
            if (result == -EFBIG)
                return input_reject(ret_error, "string", 0, 0, "a longer one",
                                    "at most %zu instructions after normalisation", KERNEL_MAX_INSTRUCTIONS);
            return result;
        }
        builder.units[builder.n - 1] |= kernel->units[i] & KERNEL_BARRIER;
    }
    *ret_kernel = (struct kernel){.units = builder.units, .n = builder.n};
    return 0;
}

void kernel_count(const uint8_t *units, size_t n, size_t ret_count[N_UNITS])
{
    memset(ret_count, 0, N_UNITS * sizeof ret_count[0]);
    for (size_t i = 0; i < n; i++)
        ret_count[KERNEL_UNIT(units[i])]++;
}
