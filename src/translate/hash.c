#include "translate/hash.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void expand(const uint8_t block[64], uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

/* Round i. The eight variables rotate: s[0] of the standard is at[-i], counted modulo 8. */
static void one_round(uint32_t at[8], int i, uint32_t word)
{
    uint32_t *h = &at[(7 - i) & 7];
    uint32_t a = at[(0 - i) & 7], b = at[(1 - i) & 7], c = at[(2 - i) & 7];
    uint32_t e = at[(4 - i) & 7], f = at[(5 - i) & 7], g = at[(6 - i) & 7];

    *h += (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + word;
    at[(3 - i) & 7] += *h;
    *h += (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void compress_one(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    uint32_t at[8];

    expand(block, w);
    memcpy(at, state, sizeof at);
    for (int i = 0; i < 64; i += 8)
        for (int k = 0; k < 8; k++)
            one_round(at, i + k, w[i + k]);
    for (int i = 0; i < 8; i++)
        state[i] += at[i];
}

#if defined(__x86_64__)
/* Processors since about 2017 have instructions for SHA-256, which take a tenth of the time. */
static bool has_instructions(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1U << 29;
}

__attribute__((target("sha,sse4.1"))) static void compress_fast(uint32_t state[8], const uint8_t *blocks,
                                                                size_t n)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);

    for (; n; n--, blocks += 64) {
        __m128i before[2] = {abef, cdgh};
        __m128i w[4];

        for (int i = 0; i < 16; i++) {
            __m128i *at = &w[i & 3];
            __m128i sum;

            if (i < 4)
                *at = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(blocks + 16 * i)),
                                       order);
            else
                *at = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*at, w[(i + 1) & 3]),
                                                         _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4)),
                                           w[(i + 3) & 3]);
            sum =
                _mm_add_epi32(*at, _mm_loadu_si128((const __m128i *)(const void *)(round_constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, before[0]);
        cdgh = _mm_add_epi32(cdgh, before[1]);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#endif

/* Asking the processor for its features costs about as much as a few blocks. */
static void compress(uint32_t state[8], const uint8_t *blocks, size_t n)
{
#if defined(__x86_64__)
    if (n >= 32 && has_instructions()) {
        compress_fast(state, blocks, n);
        return;
    }
#endif
    for (; n; n--, blocks += 64)
        compress_one(state, blocks);
}

void hash_init(struct hash *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
}

void hash_add(struct hash *hash, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    size_t used = hash->length % 64;

    hash->length += n;
    if (used && n) {
        size_t part = 64 - used < n ? 64 - used : n;

        memcpy(hash->block + used, at, part);
        at += part;
        n -= part;
        if (used + part == 64)
            compress(hash->state, hash->block, 1);
    }
    if (n >= 64)
        compress(hash->state, at, n / 64);
    if (n % 64)
        memcpy(hash->block, at + n / 64 * 64, n % 64);
}

void hash_end(struct hash *hash, uint8_t ret_digest[HASH_BYTES])
{
    uint64_t bits = hash->length * 8;
    uint8_t tail[72] = {0x80};
    size_t pad = (hash->length % 64 < 56 ? 56 : 120) - hash->length % 64;

    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    hash_add(hash, tail, pad + 8);
    for (int i = 0; i < HASH_BYTES; i++)
        ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hash_print(const uint8_t digest[HASH_BYTES], char ret_text[HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < HASH_BYTES; i++) {
        ret_text[2 * i] = digits[digest[i] >> 4];
        ret_text[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_text[HASH_TEXT - 1] = 0;
}

void hash_text(const void *bytes, size_t n, char ret_text[HASH_TEXT])
{
    uint8_t digest[HASH_BYTES];
    struct hash hash;

    hash_init(&hash);
    hash_add(&hash, bytes, n);
    hash_end(&hash, digest);
    hash_print(digest, ret_text);
}
