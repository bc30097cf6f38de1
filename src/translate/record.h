/*
 * Tagged byte strings in one message: the requests to baton-translate, its answers, and the cache
 * entries. A message ends with its own SHA-256, so any truncation or damage is recognised. Pure
 * functions over bytes.
 */
#ifndef TRANSLATE_RECORD_H
#define TRANSLATE_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { RECORD_LARGEST = 256 << 20 }; /* bytes of a message */

/* A message under construction. */
struct record_writer {
    uint8_t *bytes; /* owned */
    size_t length;
    size_t room;
    int error; /* sticky: 0, -ENOMEM or -EFBIG */
};

void record_begin(struct record_writer *writer);
void record_add(struct record_writer *writer, const char tag[static 4], const void *bytes, size_t n);
int record_finish(struct record_writer *writer); /* 0 or the error */
void record_done(struct record_writer *writer);

struct record {
    char tag[5];
    const uint8_t *bytes; /* borrowed from the message */
    size_t length;
};

/* 0 if bytes[0..n) is a whole message; -EBADMSG otherwise. */
int record_check(const uint8_t *bytes, size_t n);

/*
 * The records of a message that record_check() accepted, one by one; *position begins at 0. 0 for a
 * record, 1 at the end, -EBADMSG if the lengths are inconsistent.
 */
int record_next(const uint8_t *bytes, size_t n, size_t *position, struct record *ret_record);

#endif
