/*
 * aes: AES-128, each block by itself: encrypted by one launch, decrypted by the next. The tables
 * are made here from the field GF(256) (FIPS 197, sec. 5.1.1) and given to the kernel. The check
 * has an implementation of its own by rows of bytes. It is itself checked against the example of
 * FIPS 197, appendix C.1.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN, CIPHER, AGAIN, ROUND_KEYS, BOX, INVERSE_BOX };
enum { BLOCK = 16, ROUNDS = 10, KEY_BYTES = BLOCK * (ROUNDS + 1), GROUP = 64 };

static uint8_t times(uint8_t a, uint8_t b)
{
    uint8_t product = 0;

    for (; b; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a = (uint8_t)((a << 1) ^ (a & 0x80 ? 0x1b : 0));
    }
    return product;
}

static void make_boxes(uint8_t box[256], uint8_t inverse_box[256])
{
    for (int i = 0; i < 256; i++) {
        uint8_t inverse = 0;
        uint8_t value = 0x63;
        for (int j = 1; j < 256 && i; j++)
            if (times((uint8_t)i, (uint8_t)j) == 1)
                inverse = (uint8_t)j;
        for (int turn = 0; turn < 5; turn++)
            value ^= (uint8_t)(inverse << turn | inverse >> (8 - turn));
        box[i] = value;
        inverse_box[value] = (uint8_t)i;
    }
}

static void expand_key(const uint8_t *key, const uint8_t *box, uint8_t *ret_keys)
{
    uint8_t round = 1;

    memcpy(ret_keys, key, BLOCK);
    for (size_t i = BLOCK; i < KEY_BYTES; i += 4) {
        uint8_t word[4];
        memcpy(word, ret_keys + i - 4, 4);
        if (i % BLOCK == 0) {
            const uint8_t first = word[0];
            word[0] = box[word[1]] ^ round;
            word[1] = box[word[2]];
            word[2] = box[word[3]];
            word[3] = box[first];
            round = times(round, 2);
        }
        for (size_t j = 0; j < 4; j++)
            ret_keys[i + j] = ret_keys[i + j - BLOCK] ^ word[j];
    }
}

static void aes_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);
    uint8_t *plain = work_array(work, n * BLOCK);
    uint8_t *box = work_array(work, 256);
    uint8_t *inverse_box = work_array(work, 256);
    uint8_t *keys = work_array(work, KEY_BYTES);
    uint8_t key[BLOCK];

    for (size_t i = 0; i < n * BLOCK; i++)
        plain[i] = (uint8_t)random_below(&work->random, 256);
    for (size_t i = 0; i < BLOCK; i++)
        key[i] = (uint8_t)random_below(&work->random, 256);
    make_boxes(box, inverse_box);
    expand_key(key, box, keys);
    work_buffer(work, PLAIN, plain, NULL, n * BLOCK);
    work_buffer(work, CIPHER, NULL, work_array(work, n * BLOCK), n * BLOCK);
    work_buffer(work, AGAIN, NULL, work_array(work, n * BLOCK), n * BLOCK);
    work_buffer(work, ROUND_KEYS, keys, NULL, KEY_BYTES);
    work_buffer(work, BOX, box, NULL, 256);
    work_buffer(work, INVERSE_BOX, inverse_box, NULL, 256);
}

static void aes_run(struct work *work)
{
    LAUNCH(work, "encrypt", SHAPE1(work->size, GROUP), BUFFER(PLAIN), BUFFER(CIPHER), BUFFER(ROUND_KEYS),
           BUFFER(BOX));
    LAUNCH(work, "decrypt", SHAPE1(work->size, GROUP), BUFFER(CIPHER), BUFFER(AGAIN), BUFFER(ROUND_KEYS),
           BUFFER(INVERSE_BOX));
}

static void encrypt_block(const uint8_t *in, uint8_t *out, const uint8_t *keys, const uint8_t *box)
{
    uint8_t state[BLOCK];

    for (size_t i = 0; i < BLOCK; i++)
        state[i] = in[i] ^ keys[i];
    for (size_t round = 1; round <= ROUNDS; round++) {
        uint8_t moved[BLOCK];
        for (size_t i = 0; i < BLOCK;
             i++) /* byte i is row i % 4, column i / 4; row r comes from r columns to the right */
            moved[i] = box[state[(i + 4 * (i % 4)) % BLOCK]];
        for (size_t i = 0; i < BLOCK; i++) {
            const uint8_t *column = moved + i / 4 * 4;
            uint8_t mixed = times(column[i % 4], 2) ^ times(column[(i + 1) % 4], 3) ^ column[(i + 2) % 4] ^
                            column[(i + 3) % 4];
            state[i] = (round < ROUNDS ? mixed : moved[i]) ^ keys[round * BLOCK + i];
        }
    }
    memcpy(out, state, BLOCK);
}

static bool example_is_right(const uint8_t *box)
{
    static const uint8_t want[BLOCK] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                        0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    uint8_t key[BLOCK];
    uint8_t plain[BLOCK];
    uint8_t cipher[BLOCK];
    uint8_t keys[KEY_BYTES];

    for (size_t i = 0; i < BLOCK; i++) {
        key[i] = (uint8_t)i;
        plain[i] = (uint8_t)(i * 0x11);
    }
    expand_key(key, box, keys);
    encrypt_block(plain, cipher, keys, box);
    return !memcmp(cipher, want, BLOCK);
}

static bool aes_check(const struct work *work)
{
    const uint8_t *plain = work->buffers[PLAIN].in;
    const uint8_t *cipher = work->buffers[CIPHER].out;

    if (!example_is_right(work->buffers[BOX].in))
        return check_failed(work, "the check is wrong: FIPS 197, C.1 is not met");
    for (size_t i = 0; i < work->size; i++) {
        uint8_t want[BLOCK];
        encrypt_block(plain + i * BLOCK, want, work->buffers[ROUND_KEYS].in, work->buffers[BOX].in);
        if (memcmp(cipher + i * BLOCK, want, BLOCK) != 0)
            return check_failed(work, "block %zu", i);
    }
    return check_bytes(work, work->buffers[AGAIN].out, plain, work->size * BLOCK);
}

const struct workload workload_aes = {
    .name = "aes",
    .row = "AESDecrypt/Encrypt",
    .unit = "blocks of 16 bytes",
    .sizes = {1024, 16384, 65536},
    .source = OPENCL(
        uchar twice(uchar a) { return a << 1 ^ (a & 0x80 ? 0x1b : 0); }

        kernel void encrypt(global const uchar *in, global uchar *out, constant uchar *keys,
                            constant uchar *box) {
            size_t base = get_global_id(0) * 16;
            uchar state[16];
            uchar moved[16];
            for (int i = 0; i < 16; i++)
                state[i] = in[base + i] ^ keys[i];
            for (int round = 1; round <= 10; round++) {
                for (int column = 0; column < 4; column++)
                    for (int row = 0; row < 4; row++)
                        moved[4 * column + row] = box[state[4 * ((column + row) & 3) + row]];
                for (int c = 0; c < 16; c += 4) {
                    uchar all = moved[c] ^ moved[c + 1] ^ moved[c + 2] ^ moved[c + 3];
                    for (int row = 0; row < 4; row++) {
                        uchar mixed = moved[c + row];
                        if (round < 10)
                            mixed ^= all ^ twice(moved[c + row] ^ moved[c + ((row + 1) & 3)]);
                        state[c + row] = mixed ^ keys[round * 16 + c + row];
                    }
                }
            }
            for (int i = 0; i < 16; i++)
                out[base + i] = state[i];
        }

        kernel void decrypt(global const uchar *in, global uchar *out, constant uchar *keys,
                            constant uchar *inverse_box) {
            size_t base = get_global_id(0) * 16;
            uchar state[16];
            uchar moved[16];
            for (int i = 0; i < 16; i++)
                state[i] = in[base + i] ^ keys[160 + i];
            for (int round = 9; round >= 0; round--) {
                for (int column = 0; column < 4; column++)
                    for (int row = 0; row < 4; row++)
                        moved[4 * ((column + row) & 3) + row] = inverse_box[state[4 * column + row]];
                for (int i = 0; i < 16; i++)
                    moved[i] ^= keys[round * 16 + i];
                for (int c = 0; c < 16; c += 4) {
                    uchar all = moved[c] ^ moved[c + 1] ^ moved[c + 2] ^ moved[c + 3];
                    uchar nine = twice(twice(twice(all))) ^ all;
                    uchar even = twice(twice(moved[c] ^ moved[c + 2]));
                    uchar odd = twice(twice(moved[c + 1] ^ moved[c + 3]));
                    for (int row = 0; row < 4; row++) {
                        uchar mixed = moved[c + row] ^ twice(moved[c + row] ^ moved[c + ((row + 1) & 3)]) ^
                                      nine ^ (row & 1 ? odd : even);
                        state[c + row] = round ? mixed : moved[c + row];
                    }
                }
            }
            for (int i = 0; i < 16; i++)
                out[base + i] = state[i];
        }),
    .prepare = aes_prepare,
    .run = aes_run,
    .check = aes_check,
};
