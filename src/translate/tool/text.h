/*
 * The basis of every part of baton-translate: memory that lives as long as the process, growing
 * texts, and the one way to refuse a request. The process answers one request and ends, so nothing
 * is freed. A request that needs too much memory ends it with TEXT_EXIT_MEMORY, which the caller
 * reports as a reason.
 */
#ifndef TRANSLATE_TOOL_TEXT_H
#define TRANSLATE_TOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_EXIT_MEMORY = 4 };

/* Zeroed; never NULL. */
void *text_alloc(size_t n, size_t size);

/* A copy with a terminating 0. */
char *text_copy(const char *from, size_t length);

struct text {
    char *bytes; /* `length` bytes and a 0; NULL while empty */
    size_t length;
    size_t room;
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Why the request cannot be translated: the first reason is kept. */
struct refusal {
    char reason[200];
};

void refuse(struct refusal *refusal, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
