/*
 * Runs a fuzz target over a corpus folder: each file whole, cut at 64 places, and with 256 random
 * changes.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "fuzz.h"

/* A fresh block of exactly this size, so that a sanitizer sees the first byte read beyond it. */
static void run_exact(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_variants(uint8_t *data, size_t size, struct random_state *random)
{
    run_exact(data, size);
    for (size_t cut = 0; cut < 64; cut++)
        run_exact(data, size * cut / 64);
    for (size_t round = 0; round < 256 && size > 0; round++) {
        size_t at = (size_t)random_below(random, size);
        uint8_t old = data[at];

        data[at] = (uint8_t)random_below(random, 256);
        run_exact(data, size);
        if (random_below(random, 2))
            data[at] = old;
    }
}

int main(int argc, char *argv[])
{
    struct dirent **names;
    struct random_state random;
    int files = 0;
    int n = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1;

    random_init(&random, 1, 0);
    for (int i = 0; i < n; i++) {
        char path[4096];
        char *text;
        size_t size;

        (void)snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
        if (names[i]->d_type != DT_DIR && file_read(path, (size_t)1 << 20, &text, &size) == 0) {
            run_variants((uint8_t *)text, size, &random);
            free(text);
            files++;
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    /* An empty corpus would be a test that cannot fail. */
    printf("%d passed, %d failed\n", files, files == 0);
    return files == 0;
}
