/* Fingerprints of bytes: FNV-1a, 64 bits. They detect accidents, not forgery. */
#ifndef BASE_FINGERPRINT_H
#define BASE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#define FINGERPRINT_START UINT64_C(0xcbf29ce484222325)

/* Continues a fingerprint over more bytes; the first call passes FINGERPRINT_START. */
static inline uint64_t fingerprint(uint64_t so_far, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        so_far = (so_far ^ at[i]) * UINT64_C(0x100000001b3);
    return so_far;
}

/*
 * 16 bits of a fingerprint. The last byte hardly changes the upper bits of FNV-1a, so all bits are
 * mixed first (splitmix64).
 */
static inline unsigned fingerprint_short(uint64_t print)
{
    print = (print ^ print >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    print = (print ^ print >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((print ^ print >> 31) & 0xffff);
}

#endif
