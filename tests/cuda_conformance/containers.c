#include "containers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { HEADER = 16, ENTRY = 64, KIND_PTX = 1, KIND_ELF = 2, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* One sequence of literals: a token, the length in bytes of 255, the bytes. */
static size_t pack_lz4(unsigned char *to, const char *from, size_t size)
{
    size_t n = 0, rest = size - 15;

    to[n++] = 0xf0;
    for (; rest >= 255; rest -= 255)
        to[n++] = 255;
    to[n++] = (unsigned char)rest;
    memcpy(to + n, from, size);
    return n + size;
}

struct container container_make(const char *ptx, enum container_kind kind)
{
    size_t size = strlen(ptx) + 1, room = ZSTD_compressBound(size) + size / 255 + 64, packed = size;
    unsigned char *bytes = calloc(1, HEADER + ENTRY + room), *payload;

    if (!bytes) {
        perror("containers");
        exit(3);
    }
    payload = bytes + HEADER + ENTRY;
    if (kind == CONTAINER_ZSTD)
        packed = ZSTD_compress(payload, room, ptx, size, 3);
    else if (kind == CONTAINER_LZ4)
        packed = pack_lz4(payload, ptx, size);
    else
        memcpy(payload, ptx, size);
    put(bytes, 0xba55ed50, 4);
    put(bytes + 4, 1, 2);
    put(bytes + 6, HEADER, 2);
    put(bytes + 8, ENTRY + (packed + 7) / 8 * 8, 8);
    put(bytes + 16, kind == CONTAINER_MACHINE_CODE ? KIND_ELF : KIND_PTX, 2);
    put(bytes + 18, 0x101, 2);
    put(bytes + 20, ENTRY, 4);
    put(bytes + 24, kind == CONTAINER_BROKEN ? UINT64_C(1) << 40 : (packed + 7) / 8 * 8, 8);
    put(bytes + 32, kind == CONTAINER_ZSTD || kind == CONTAINER_LZ4 ? packed : 0, 4);
    put(bytes + 44, 80, 4);
    put(bytes + 56, kind == CONTAINER_ZSTD ? FLAG_ZSTD : kind == CONTAINER_LZ4 ? FLAG_LZ4 : 0, 8);
    put(bytes + 72, size, 8);
    return (struct container){bytes, HEADER + ENTRY + (packed + 7) / 8 * 8};
}

void container_free(struct container *container)
{
    free(container->bytes);
    container->bytes = NULL;
}
