/*
 * Copies and nothing else (GPES's memcpy), over OpenCL or CUDA: each job writes so many bytes to
 * the device and reads them back.
 *
 *   copies --bytes N [--jobs N]      prints in_ms and out_ms, the medians of its jobs, and wrong
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "measure.h"

int main(int argc, char **argv)
{
    size_t bytes = (size_t)option(argc, argv, "bytes", 1 << 20);
    size_t jobs = (size_t)option(argc, argv, "jobs", 9);
    char *sent = malloc(bytes ? bytes : 1);
    char *back = malloc(bytes ? bytes : 1);
    double *in = calloc(jobs + 1, sizeof *in);
    double *out = calloc(jobs + 1, sizeof *out);
    size_t wrong = 0;

    if (!sent || !back || !in || !out || !bytes || !jobs) {
        fprintf(stderr, "copies: nothing to copy, or no memory\n");
        return 3;
    }
    memset(sent, 1, bytes);
    memset(back, 2, bytes);
    copies_open(bytes);
    for (size_t i = 0; i <= jobs; i++) { /* the first touches the device's memory and does not count */
        double begin = now_ms();
        double middle;
        sent[bytes / 2] = (char)i;
        copies_in(sent, bytes);
        middle = now_ms();
        copies_out(back, bytes);
        in[i] = middle - begin;
        out[i] = now_ms() - middle;
        wrong += memcmp(sent, back, bytes) != 0;
    }
    printf("in_ms %.5f out_ms %.5f wrong %zu\n", quantile(in + 1, jobs, 0.5), quantile(out + 1, jobs, 0.5),
           wrong);
    copies_close();
    free(sent);
    free(back);
    free(in);
    free(out);
    return wrong ? 1 : 0;
}
