/* SHA-256, as cache entries are named by it. */
#include "harness.h"
#include "translate/hash.h"

#include <string.h>

/*
 * FIPS 180-4 and NIST's examples: nothing, one block, a length that just needs a second block, many
 * blocks.
 */
START_TEST(the_hash_is_sha_256)
{
    static const struct {
        const char *text, *digest;
    } all[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    static char million[1000000];
    char digest[HASH_TEXT];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        hash_text(all[i].text, strlen(all[i].text), digest);
        ck_assert_str_eq(digest, all[i].digest);
    }
    memset(million, 'a', sizeof million);
    hash_text(million, sizeof million, digest);
    ck_assert_str_eq(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

/* Large parts may be hashed by instructions for it, small ones are not: both give the same. */
START_TEST(the_hash_does_not_depend_on_how_bytes_are_added)
{
    static uint8_t bytes[9000];
    uint8_t whole[HASH_BYTES];
    uint8_t parts[HASH_BYTES];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761U >> 13);
    for (size_t n = 0; n <= sizeof bytes; n += n < 300 ? 1 : 61) {
        struct hash hash;

        hash_init(&hash);
        hash_add(&hash, bytes, n);
        hash_end(&hash, whole);
        hash_init(&hash);
        for (size_t at = 0; at < n; at += 1 + at % 97)
            hash_add(&hash, bytes + at, at + 1 + at % 97 < n ? 1 + at % 97 : n - at);
        hash_end(&hash, parts);
        ck_assert_msg(memcmp(whole, parts, sizeof whole) == 0, "%zu bytes", n);
    }
}
END_TEST

HARNESS_MAIN("translate hash", 60, the_hash_is_sha_256, the_hash_does_not_depend_on_how_bytes_are_added)
