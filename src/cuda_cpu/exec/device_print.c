/* printf and assert of device code. */
#include "cuda_cpu/exec/exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 4096, LONGEST_SPECIFIER = 32 };

/*
 * Checks that device memory [address, address + size) is allocated, because the kernel chose the
 * address.
 */
static bool is_readable(struct device_thread *t, uint64_t address, uint64_t size)
{
    struct worker *worker = exec_worker(t);
    const struct launch_calls *calls = &worker->launch->calls;
    struct space_block block;

    if (space_find(worker->space, address, &block))
        return block.address + block.size - address >= size;
    return calls->may_access && calls->may_access(calls->context, address, size, false);
}

/*
 * How many bytes of text, at most `most`, begin at the address. Faults if the first is not
 * readable.
 */
static size_t text_length(struct device_thread *t, uint64_t address, size_t most)
{
    size_t n = 0;

    while (n < most) {
        if ((n == 0 || (address + n) % 4096 == 0 || n % 256 == 0) && !is_readable(t, address + n, 1))
            exec_fail(t, CPU_ILLEGAL_ADDRESS, address + n, 0, "printf reads 0x%llx",
                      (unsigned long long)address + n);
        if (!((const char *)(uintptr_t)address)[n])
            break;
        n++;
        if (!is_readable(t, address + n, 1))
            break;
    }
    return n;
}

struct print_text {
    char bytes[LONGEST];
    size_t n;
};

static void append(struct print_text *text, const char *bytes, size_t n)
{
    size_t room = sizeof text->bytes - text->n;

    n = n < room ? n : room;
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
}

__attribute__((format(printf, 2, 3))) static void append_format(struct print_text *text, const char *format,
                                                                ...)
{
    char piece[1200];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    if (n > 0)
        append(text, piece, (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1);
}

/* The next argument, of 4 or 8 bytes, from *at, which moves on. */
static uint64_t next_argument(struct device_thread *t, uint64_t *at, size_t size)
{
    uint64_t bits = 0;

    *at = (*at + size - 1) / size * size;
    if (!is_readable(t, *at, size))
        exec_fail(t, CPU_ILLEGAL_ADDRESS, *at, 0, "printf reads its arguments at 0x%llx",
                  (unsigned long long)*at);
    memcpy(&bits, (const void *)(uintptr_t)*at, size);
    *at += size;
    return bits;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One argument by its kind. `one` holds '%' and the flags, with room for the kind behind them. */
static void convert_argument(struct device_thread *t, struct print_text *text, char *one, size_t flags,
                             char kind, bool is_wide, uint64_t bits)
{
    size_t room = 4;
    bool precise = memchr(one, '.', flags) != NULL;

    if (kind == 's') {
        const char *given = bits ? (const char *)(uintptr_t)bits : "(null)";
        size_t length = bits ? text_length(t, bits, LONGEST) : 6;

        (void)snprintf(one + flags, room, precise ? "s" : ".*s");
        if (precise)
            append_format(text, one, given);
        else
            append_format(text, one, (int)length, given);
    } else if (strchr("fFeEgGaA", kind)) {
        double value;

        memcpy(&value, &bits, sizeof value);
        (void)snprintf(one + flags, room, "%c", kind);
        append_format(text, one, value);
    } else if (kind == 'p') {
        append_format(text, "%#llx", (unsigned long long)bits);
    } else if (kind == 'c') {
        (void)snprintf(one + flags, room, "c");
        append_format(text, one, (int)bits);
    } else if (kind != 'n') {
        (void)snprintf(one + flags, room, "ll%c", kind);
        if (strchr("di", kind))
            append_format(text, one, is_wide ? (long long)bits : (long long)(int32_t)bits);
        else
            append_format(text, one, (unsigned long long)bits);
    }
}
#pragma GCC diagnostic pop

/*
 * One conversion, from `%` on; its length in the format. The argument comes from *at, which moves
 * on.
 */
static size_t convert(struct device_thread *t, struct print_text *text, const char *format, size_t left,
                      uint64_t *at)
{
    char one[LONGEST_SPECIFIER + 4];
    size_t n = 1;
    size_t flags, size;
    bool is_long;
    char kind;

    while (n < left && strchr("-+ #0123456789.", format[n]))
        n++;
    flags = n;
    while (n < left && strchr("hlLqjzt", format[n]))
        n++;
    if (n >= left || flags > LONGEST_SPECIFIER) {
        append(text, format, left);
        return left;
    }
    is_long = memchr(format + flags, 'l', n - flags) || memchr(format + flags, 'z', n - flags) ||
              memchr(format + flags, 'j', n - flags) || memchr(format + flags, 't', n - flags);
    kind = format[n++];
    if (kind == '%') {
        append(text, "%", 1);
        return n;
    }
    if (!strchr("diouxXcsfFeEgGaApn", kind)) {
        append(text, format, n);
        return n;
    }
    size = strchr("fFeEgGaAspn", kind) || is_long ? 8 : 4;
    memcpy(one, format, flags);
    convert_argument(t, text, one, flags, kind, size == 8, next_argument(t, at, size));
    return n;
}

static void deliver(struct device_thread *t, const struct print_text *text)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;

    if (calls->print)
        calls->print(calls->context, text->bytes, text->n);
    else
        (void)fwrite(text->bytes, 1, text->n, stdout);
}

/* Answers the number of arguments, as device printf does. */
EXEC_PLAIN uint32_t exec_print(struct device_thread *t, uint64_t format, uint64_t arguments)
{
    struct print_text text;
    const char *c = (const char *)(uintptr_t)format;
    uint64_t at = arguments;
    uint32_t count = 0;
    size_t left;

    exec_enter_library(t);
    text.n = 0;
    left = text_length(t, format, LONGEST);
    while (left) {
        const char *percent = memchr(c, '%', left);
        size_t n = percent ? (size_t)(percent - c) : left;

        append(&text, c, n);
        c += n;
        left -= n;
        if (left) {
            uint64_t before = at;

            n = convert(t, &text, c, left, &at);
            count += at != before;
            c += n;
            left -= n;
        }
    }
    deliver(t, &text);
    exec_leave_library(t);
    return count;
}

EXEC_PLAIN void exec_assertion(struct device_thread *t, uint64_t message, uint64_t file, uint32_t line,
                               uint64_t function)
{
    struct print_text text;

    exec_enter_library(t);
    text.n = 0;
    append(&text, (const char *)(uintptr_t)file, text_length(t, file, 512));
    append_format(&text, ":%u: ", line);
    append(&text, (const char *)(uintptr_t)function, text_length(t, function, 512));
    append_format(&text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", t->ctaid[0], t->ctaid[1],
                  t->ctaid[2], t->tid[0], t->tid[1], t->tid[2]);
    append(&text, (const char *)(uintptr_t)message, text_length(t, message, 1024));
    append_format(&text, "` failed.\n");
    deliver(t, &text);
    exec_fail(t, CPU_ASSERT, 0, 0, "a device-side assertion failed");
}
