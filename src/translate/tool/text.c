#include "translate/tool/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *text_alloc(size_t n, size_t size)
{
    void *block = calloc(n ? n : 1, size ? size : 1);

    if (!block)
        _exit(TEXT_EXIT_MEMORY);
    return block;
}

char *text_copy(const char *from, size_t length)
{
    char *copy = text_alloc(length + 1, 1);

    memcpy(copy, from, length);
    return copy;
}

static void make_room(struct text *text, size_t n)
{
    size_t room = text->room ? text->room : 4096;

    while (room - text->length <= n)
        room *= 2;
    if (room != text->room) {
        text->bytes = realloc(text->bytes, room);
        if (!text->bytes)
            _exit(TEXT_EXIT_MEMORY);
        text->room = room;
    }
}

void text_add(struct text *text, const char *bytes, size_t n)
{
    make_room(text, n);
    if (n)
        memcpy(text->bytes + text->length, bytes, n);
    text->length += n;
    text->bytes[text->length] = 0;
}

void text_print(struct text *text, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    make_room(text, (size_t)n);
    va_start(args, format);
    (void)vsnprintf(text->bytes + text->length, (size_t)n + 1, format, args);
    va_end(args);
    text->length += (size_t)n;
}

void refuse(struct refusal *refusal, const char *format, ...)
{
    va_list args;

    if (refusal->reason[0])
        return;
    va_start(args, format);
    (void)vsnprintf(refusal->reason, sizeof refusal->reason, format, args);
    va_end(args);
}
