/* SHA-256 (FIPS 180-4): names cache entries and checks their bytes. */
#ifndef TRANSLATE_HASH_H
#define TRANSLATE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 32, HASH_TEXT = 65 /* in hexadecimal, with the 0 */ };

struct hash {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

void hash_init(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t n);
void hash_end(struct hash *hash, uint8_t ret_digest[HASH_BYTES]);

/* The digest of bytes[0..n) as text. */
void hash_text(const void *bytes, size_t n, char ret_text[HASH_TEXT]);

/* A digest as text. */
void hash_print(const uint8_t digest[HASH_BYTES], char ret_text[HASH_TEXT]);

#endif
