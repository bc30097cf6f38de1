#include "translate/record.h"
#include "translate/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "BATONT1\n";

enum { HEAD = 8 /* tag and length of a record */ };

static void put(struct record_writer *writer, const void *bytes, size_t n)
{
    if (writer->error)
        return;
    if (n > RECORD_LARGEST - writer->length) {
        writer->error = -EFBIG;
        return;
    }
    if (writer->room - writer->length < n) {
        size_t room = writer->room ? writer->room : 4096;
        uint8_t *more;

        while (room - writer->length < n)
            room *= 2;
        more = realloc(writer->bytes, room);
        if (!more) {
            writer->error = -ENOMEM;
            return;
        }
        writer->bytes = more;
        writer->room = room;
    }
    if (n)
        memcpy(writer->bytes + writer->length, bytes, n);
    writer->length += n;
}

void record_begin(struct record_writer *writer)
{
    memset(writer, 0, sizeof *writer);
    put(writer, magic, sizeof magic);
}

void record_add(struct record_writer *writer, const char tag[static 4], const void *bytes, size_t n)
{
    uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};

    put(writer, tag, 4);
    put(writer, length, sizeof length);
    put(writer, bytes, n);
}

int record_finish(struct record_writer *writer)
{
    uint8_t digest[HASH_BYTES];
    struct hash hash;

    if (!writer->error) {
        hash_init(&hash);
        hash_add(&hash, writer->bytes, writer->length);
        hash_end(&hash, digest);
        put(writer, digest, sizeof digest);
    }
    return writer->error;
}

void record_done(struct record_writer *writer)
{
    free(writer->bytes);
    memset(writer, 0, sizeof *writer);
}

int record_check(const uint8_t *bytes, size_t n)
{
    uint8_t digest[HASH_BYTES];
    struct hash hash;

    if (n < sizeof magic + HASH_BYTES || n > (size_t)RECORD_LARGEST + HASH_BYTES ||
        memcmp(bytes, magic, sizeof magic) != 0)
        return -EBADMSG;
    hash_init(&hash);
    hash_add(&hash, bytes, n - HASH_BYTES);
    hash_end(&hash, digest);
    return memcmp(digest, bytes + n - HASH_BYTES, HASH_BYTES) == 0 ? 0 : -EBADMSG;
}

int record_next(const uint8_t *bytes, size_t n, size_t *position, struct record *ret_record)
{
    size_t at = *position ? *position : sizeof magic;
    const uint8_t *head = bytes + at;
    size_t end;
    size_t length;

    if (n < sizeof magic + HASH_BYTES || at > n - HASH_BYTES)
        return -EBADMSG;
    end = n - HASH_BYTES;
    if (at == end)
        return 1;
    if (end - at < HEAD)
        return -EBADMSG;
    length = (size_t)head[4] | (size_t)head[5] << 8 | (size_t)head[6] << 16 | (size_t)head[7] << 24;
    if (length > end - at - HEAD)
        return -EBADMSG;
    memcpy(ret_record->tag, head, 4);
    ret_record->tag[4] = 0;
    ret_record->bytes = head + HEAD;
    ret_record->length = length;
    *position = at + HEAD + length;
    return 0;
}
