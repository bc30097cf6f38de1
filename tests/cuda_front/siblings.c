/*
 * Launches of kernels that can be cut, but whose pieces the driver would refuse (lying_driver.c).
 * Each launch does its work.
 *
 *     siblings threads|clusters|shared KERNELS
 */
#include "gated_words.h"

static unsigned shared; /* bytes of the next launches */

static void fill_by(unsigned blocks, unsigned threads, int value)
{
    unsigned found[WORDS];
    int n = WORDS;
    void *params[] = {&words, &n, &value};

    MUST(cuLaunchKernel(fill, blocks, 1, 1, threads, 1, 1, shared, NULL, params, NULL));
    MUST(cuMemcpyDtoH_v2(found, words, sizeof found));
    for (int i = 0; i < WORDS; i++)
        expect(found[i] == (unsigned)value, "each block ran");
}

/* Blocks of 16 and of 4 threads: 4 launches. */
static void threads(void)
{
    fill_by(4, 16, 1);
    fill_by(16, 4, 2);
    fill_by(4, 16, 3);
    fill_by(16, 4, 4);
}

/* 2 launches before the kernel has clusters, and 2 behind that. */
static void make_clusters(void)
{
    fill_by(16, 4, 1);
    fill_by(16, 4, 2);
    MUST(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    fill_by(16, 4, 3);
    fill_by(16, 4, 4);
}

/* The same with more shared memory than a kernel may have without that. */
static void share(void)
{
    fill_by(16, 4, 1);
    fill_by(16, 4, 2);
    MUST(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    shared = 65536;
    fill_by(16, 4, 3);
    fill_by(16, 4, 4);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    kernels = argv[2];
    MUST(cuInit(0));
    open_context();
    if (strcmp(argv[1], "threads") == 0)
        threads();
    else if (strcmp(argv[1], "clusters") == 0)
        make_clusters();
    else
        share();
    printf("%s\n", n_wrong ? "wrong" : "right");
    return n_wrong > 0;
}
