#include "containers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { HEADER = 16, ENTRY = 64, NAMED = 16, KIND_PTX = 1, KIND_ELF = 2, KIND_LTO = 8 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_OWN = 0x100000, FLAG_FAMILY = 0x200000 };

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

/* "ptx 90a" */
static void put_entry(unsigned char *at, const char *name)
{
    char *suffix = NULL;
    unsigned long architecture = strtoul(name + 4, &suffix, 10);

    put(at, *name == 'p' ? KIND_PTX : *name == 'e' ? KIND_ELF : KIND_LTO, 2);
    put(at + 2, 0x101, 2);
    put(at + 4, ENTRY, 4);
    put(at + 8, NAMED, 8);
    put(at + 28, architecture, 4);
    put(at + 40, *suffix == 'a' ? FLAG_OWN : *suffix == 'f' ? FLAG_FAMILY : 0, 8);
    put(at + 56, 0, 8);
    for (size_t i = 0; i < NAMED && name[i]; i++)
        at[ENTRY + i] = (unsigned char)name[i];
}

struct container container_of(const char *const names[], size_t n)
{
    size_t size = HEADER + n * (ENTRY + NAMED);
    unsigned char *bytes = calloc(1, size);

    if (!bytes) {
        perror("containers");
        exit(3);
    }
    put(bytes, 0xba55ed50, 4);
    put(bytes + 4, 1, 2);
    put(bytes + 6, HEADER, 2);
    put(bytes + 8, size - HEADER, 8);
    for (size_t i = 0; i < n; i++)
        put_entry(bytes + HEADER + i * (ENTRY + NAMED), names[i]);
    return (struct container){bytes, size};
}

void container_free(struct container *container)
{
    free(container->bytes);
    container->bytes = NULL;
}
