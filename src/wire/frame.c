#include "wire/frame.h"

#include <assert.h>
#include <string.h>

/* ---- sizes ---- */
#define SIZE_u32                        4u
#define SIZE_u64                        8u
#define RECORD_SIZE                     48u
#define FRAME(identifier, number, name) enum { PAYLOAD_##identifier = 0
#define FIELD(type, name)               +SIZE_##type
#define TEXT(name, size)                +(size)
#define COUNTS(name, n)                 +8u * (n)
#define RECORDS(name, n)                +RECORD_SIZE *(n)
#define END(identifier, name)                                                                                \
    }                                                                                                        \
    ;                                                                                                        \
    _Static_assert(PAYLOAD_##identifier + FRAME_HEADER_SIZE <= FRAME_MAX_SIZE,                               \
                   "frame " #name " is too large");
#include "wire/frames.def"
#undef FRAME
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END

/* ---- scalars: no casts of pointers, so alignment and byte order never matter ---- */
static void put_u16(uint8_t **at, uint16_t value)
{
    *(*at)++ = (uint8_t)value;
    *(*at)++ = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t **at, uint32_t value)
{
    put_u16(at, (uint16_t)value);
    put_u16(at, (uint16_t)(value >> 16));
}

static void put_u64(uint8_t **at, uint64_t value)
{
    put_u32(at, (uint32_t)value);
    put_u32(at, (uint32_t)(value >> 32));
}

static uint16_t get_u16(const uint8_t **at)
{
    uint16_t value = (uint16_t)((*at)[0] | (*at)[1] << 8);

    *at += 2;
    return value;
}

static uint32_t get_u32(const uint8_t **at)
{
    uint32_t low = get_u16(at);

    return low | (uint32_t)get_u16(at) << 16;
}

static uint64_t get_u64(const uint8_t **at)
{
    uint64_t low = get_u32(at);

    return low | (uint64_t)get_u32(at) << 32;
}

/* A text takes exactly `size` bytes: the characters, then only zeros. */
static void put_text(uint8_t **at, const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    memcpy(*at, text, length);
    memset(*at + length, 0, size - length);
    *at += size;
}

static int get_text(const uint8_t **at, char *ret_text, size_t size)
{
    size_t length = 0;

    while (length < size && (*at)[length])
        length++;
    for (size_t i = length; i < size; i++) {
        if ((*at)[i])
            return FRAME_BAD;
    }
    memcpy(ret_text, *at, length);
    ret_text[length] = 0;
    *at += size;
    return 0;
}

static void put_record(uint8_t **at, const struct trace_record *record)
{
    put_u64(at, record->at);
    put_u64(at, record->length);
    put_u32(at, record->kind);
    put_u32(at, record->client);
    put_u32(at, record->engine);
    put_u32(at, record->job);
    put_u64(at, record->size);
    put_u32(at, record->kernel);
    put_u32(at, record->pieces);
}

static void get_record(const uint8_t **at, struct trace_record *ret_record)
{
    ret_record->at = get_u64(at);
    ret_record->length = get_u64(at);
    ret_record->kind = get_u32(at);
    ret_record->client = get_u32(at);
    ret_record->engine = get_u32(at);
    ret_record->job = get_u32(at);
    ret_record->size = get_u64(at);
    ret_record->kernel = get_u32(at);
    ret_record->pieces = get_u32(at);
}

/* ---- one encoder and one decoder per message ---- */
#define FRAME(identifier, number, name)                                                                      \
    static void put_##name(uint8_t **at, const struct frame_##name *from)                                    \
    {                                                                                                        \
        (void)from;                                                                                          \
        (void)at;
#define FIELD(type, name) put_##type(at, from->name);
#define TEXT(name, size)  put_text(at, from->name, size);
#define COUNTS(name, n)                                                                                      \
    for (size_t i = 0; i < (n); i++)                                                                         \
        put_u64(at, from->name[i]);
#define RECORDS(name, n)                                                                                     \
    for (size_t i = 0; i < (n); i++)                                                                         \
        put_record(at, &from->name[i]);
#define END(identifier, name) }
#include "wire/frames.def"
#undef FRAME
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END

#define FRAME(identifier, number, name)                                                                      \
    static int get_##name(const uint8_t **at, struct frame_##name *to)                                       \
    {                                                                                                        \
        int bad = 0;                                                                                         \
        (void)to;                                                                                            \
        (void)at;
#define FIELD(type, name) to->name = get_##type(at);
#define TEXT(name, size)  bad |= get_text(at, to->name, size);
#define COUNTS(name, n)                                                                                      \
    for (size_t i = 0; i < (n); i++)                                                                         \
        to->name[i] = get_u64(at);
#define RECORDS(name, n)                                                                                     \
    for (size_t i = 0; i < (n); i++)                                                                         \
        get_record(at, &to->name[i]);
#define END(identifier, name)                                                                                \
    return bad;                                                                                              \
    }
#include "wire/frames.def"
#undef FRAME
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END

#define FIELD(type, name)
#define TEXT(name, size)
#define COUNTS(name, n)
#define RECORDS(name, n)
#define END(identifier, name)

static int payload_size(unsigned type)
{
    switch (type) {
#define FRAME(identifier, number, name)                                                                      \
    case number:                                                                                             \
        return PAYLOAD_##identifier;
#include "wire/frames.def"
#undef FRAME
    default:
        return -1;
    }
}

static int get_payload(const uint8_t **at, struct frame *frame)
{
    switch (frame->type) {
#define FRAME(identifier, number, name)                                                                      \
    case FRAME_##identifier:                                                                                 \
        return get_##name(at, &frame->name);
#include "wire/frames.def"
#undef FRAME
    }
    return FRAME_BAD;
}

const char *frame_name(unsigned type)
{
    switch (type) {
#define FRAME(identifier, number, name)                                                                      \
    case number:                                                                                             \
        return #identifier;
#include "wire/frames.def"
#undef FRAME
    default:
        return NULL;
    }
}

size_t frame_encode(const struct frame *frame, uint8_t ret_bytes[FRAME_MAX_SIZE])
{
    uint8_t *at = ret_bytes;
    int size = payload_size(frame->type);

    assert(size >= 0);
    put_u32(&at, (uint32_t)size);
    put_u16(&at, (uint16_t)frame->type);
    put_u16(&at, 0);
    switch (frame->type) {
#define FRAME(identifier, number, name)                                                                      \
    case FRAME_##identifier:                                                                                 \
        put_##name(&at, &frame->name);                                                                       \
        break;
#include "wire/frames.def"
#undef FRAME
    }
    assert(at == ret_bytes + FRAME_HEADER_SIZE + size);
    return (size_t)(at - ret_bytes);
}

int frame_decode(const uint8_t *bytes, size_t n, struct frame *ret_frame, size_t *ret_used)
{
    const uint8_t *at = bytes;
    struct frame frame;
    uint32_t size;
    uint16_t type;

    if (n < FRAME_HEADER_SIZE)
        return FRAME_PARTIAL;
    size = get_u32(&at);
    type = get_u16(&at);
    if (get_u16(&at) != 0 || payload_size(type) < 0 || size != (uint32_t)payload_size(type))
        return FRAME_BAD;
    if (n < FRAME_HEADER_SIZE + size)
        return FRAME_PARTIAL;
    memset(&frame, 0, sizeof frame);
    frame.type = (enum frame_type)type;
    if (get_payload(&at, &frame))
        return FRAME_BAD;
    *ret_frame = frame;
    *ret_used = FRAME_HEADER_SIZE + size;
    return 0;
}
