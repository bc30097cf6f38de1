/* Kinds of kernels and of arguments. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

void case_bytes(void)
{
    cl_mem in = filled(N, 24), out = filled(N, 25);
    cl_kernel k = kernel("bytes");

    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, 4 * N);
    run(k, 4 * N);
    say_mem("bytes", out, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

void case_atomics(void)
{
    cl_mem in = filled(N, 26), bins = filled(64, 27);
    cl_kernel k = kernel("histogram");

    set_mem(k, 0, in);
    set_mem(k, 1, bins);
    run(k, N);
    run(k, N);
    say_mem("atomics", bins, 64 * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(bins);
}

/*
 * Groups of both shares write one element, differently: one device alone leaves the last group's
 * value.
 */
void case_disagreement(void)
{
    cl_mem out = filled(N + LOCAL, 28), in = filled(N, 29);
    cl_kernel k = kernel("disagree"), flag = kernel("agree");
    uint32_t *next = values(N, 30);

    set_mem(k, 0, out);
    set_mem(k, 1, in);
    for (int i = 0; i < 3; i++) {
        run(k, N);
        /* What it read is changed before any command looks: a repetition must see the old bytes. */
        check(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, N * 4, next, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
        say_mem("disagreement", out, (N + 1) * 4);
        next[i] ^= 99;
    }
    set_mem(flag, 0, out);
    set_mem(flag, 1, in);
    run(flag, N);
    say_mem("agreement", out, (N + 1) * 4);
    clReleaseKernel(k);
    clReleaseKernel(flag);
    clReleaseMemObject(out);
    clReleaseMemObject(in);
    free(next);
}

void case_matrices(void)
{
    enum { M = 128 };
    size_t global[2] = {M, M}, local[2] = {8, 8}, offset[2] = {3, 5};
    cl_mem a = filled(M * M, 31), b = filled(M * M, 32), c = filled(M * M, 33);
    cl_kernel multiply = kernel("multiply"), transpose = kernel("transpose"), where = kernel("where");
    float *floats = malloc(M * M * sizeof *floats);

    for (int i = 0; i < M * M; i++)
        floats[i] = (float)(i % 97) / 3;
    check(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, M * M * 4, floats, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, M * M * 4, floats, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    set_mem(multiply, 0, a);
    set_mem(multiply, 1, b);
    set_mem(multiply, 2, c);
    set_uint(multiply, 3, M);
    check(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, local, 0, NULL, NULL), "multiply");
    set_mem(transpose, 0, c);
    set_mem(transpose, 1, a);
    set_uint(transpose, 2, M);
    check(clEnqueueNDRangeKernel(queue, transpose, 2, NULL, global, local, 0, NULL, NULL), "transpose");
    say_mem("multiply", c, M * M * 4);
    say_mem("transpose", a, M * M * 4);
    set_mem(where, 0, b);
    check(clEnqueueNDRangeKernel(queue, where, 2, offset, global, local, 0, NULL, NULL), "where");
    say_mem("where", b, M * M * 4);
    free(floats);
    clReleaseKernel(multiply);
    clReleaseKernel(transpose);
    clReleaseKernel(where);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
}

void case_arguments(void)
{
    struct {
        cl_uint a, b;
    } k = {3, 5};
    cl_mem out = filled(2 * N, 34), table = filled(16, 35), both = filled(2 * N, 36);
    cl_kernel pairs = kernel("pairs"), alias = kernel("alias");
    size_t n = N;

    set_mem(pairs, 0, out);
    set(pairs, 1, sizeof k, &k);
    set_mem(pairs, 2, table);
    check(clEnqueueNDRangeKernel(queue, pairs, 1, NULL, &n, NULL, 0, NULL, NULL), "pairs");
    k.a = 99; /* taken over when it was set */
    say_mem("pairs", out, 2 * N * 4);
    set_mem(alias, 0, both);
    set_mem(alias, 1, both);
    set_uint(alias, 2, N);
    run(alias, N);
    say_mem("alias", both, 2 * N * 4);
    clReleaseKernel(pairs);
    clReleaseKernel(alias);
    clReleaseMemObject(out);
    clReleaseMemObject(table);
    clReleaseMemObject(both);
}

/* Everything is let go of before it has happened. */
void case_early_release(void)
{
    uint32_t *bytes_read = malloc(N * 4), *more = values(N, 37);

    for (int i = 0; i < 3; i++) {
        cl_mem in = filled(N, 38 + (uint32_t)i), out = filled(N, 39), unseen = filled(N, 40);
        cl_kernel k = kernel("scatter");

        set_mem(k, 0, in);
        set_mem(k, 1, unseen); /* no command ever reads this one */
        set_uint(k, 2, N);
        run(k, N);
        set_mem(k, 1, out);
        run(k, N);
        clReleaseMemObject(
            unseen); /* before the write: what reads the old `in` is merged then, if it is still needed */
        check(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, N * 4, more, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
        check(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, N * 4, bytes_read, 0, NULL, NULL),
              "clEnqueueReadBuffer");
        clReleaseKernel(k);
        clReleaseMemObject(in);
        clReleaseMemObject(out);
        clFinish(queue);
        say("early_release", bytes_read, N * 4);
    }
    free(bytes_read);
    free(more);
}

/*
 * Groups read what others write in the same launch: through one argument, and through two that
 * overlap.
 */
void case_groups_meet(void)
{
    cl_mem weights = filled(N, 50), table = filled(N, 51), u = filled(N, 52), whole = filled(N + LOCAL, 53);
    cl_buffer_region ahead = {LOCAL * sizeof(cl_uint), N * sizeof(cl_uint)},
                     behind = {0, N * sizeof(cl_uint)};
    cl_kernel weigh = kernel("weigh"), chain = kernel("chain"), follow = kernel("follow");
    cl_int code;
    cl_mem to = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &ahead, &code);
    cl_mem from = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &behind, &code);

    check(code, "clCreateSubBuffer");
    set_mem(weigh, 0, weights);
    set_mem(weigh, 1, table);
    set_mem(weigh, 2, u);
    set_uint(weigh, 3, N);
    run(weigh, N);
    say_mem("weights", weights, N * sizeof(cl_uint));
    say_mem("table", table, N * sizeof(cl_uint));
    say_mem("start", u, N * sizeof(cl_uint));
    set_mem(chain, 0, u);
    set_uint(chain, 1, N);
    run(chain, N);
    say_mem("chain", u, N * sizeof(cl_uint));
    set_mem(follow, 0, to);
    set_mem(follow, 1, from);
    run(follow, N);
    say_mem("follow", whole, (N + LOCAL) * sizeof(cl_uint));
    clReleaseKernel(weigh);
    clReleaseKernel(chain);
    clReleaseKernel(follow);
    clReleaseMemObject(to);
    clReleaseMemObject(from);
    clReleaseMemObject(weights);
    clReleaseMemObject(table);
    clReleaseMemObject(u);
    clReleaseMemObject(whole);
}

/*
 * Items read what they write: split. In the second, two groups add one to the same element, so it
 * runs on one device.
 */
void case_groups_apart(void)
{
    cl_mem a = filled(N, 54);
    cl_kernel butterfly = kernel("butterfly"), halves = kernel("halves");

    set_mem(butterfly, 0, a);
    for (cl_uint far = 1; far < N; far *= 16) {
        set_uint(butterfly, 1, far);
        run(butterfly, N / 2);
    }
    say_mem("butterfly", a, N * sizeof(cl_uint));
    set_mem(halves, 0, a);
    run(halves, N);
    say_mem("halves", a, N * sizeof(cl_uint));
    clReleaseKernel(butterfly);
    clReleaseKernel(halves);
    clReleaseMemObject(a);
}

/*
 * Several groups have elements in common, although each item reads and writes at one index that is
 * made from its ids.
 */
void case_groups_shared(void)
{
    static const struct {
        const char *name;
        size_t global[2];
        cl_uint n_numbers, numbers[2];
    } launches[] = {{"column", {LOCAL, N / LOCAL}, 0, {0}}, /* an index of one dimension in a launch of two */
                    {"rows", {N, 1}, 2, {LOCAL, 0}},        /* i / n * m + i % n: all rows are one */
                    {"rows", {N, 1}, 2, {N / 2, LOCAL}},    /* rows that overlap */
                    {"clamped", {N, 1}, 0, {0}},
                    {"shifted", {N, 1}, 1, {N / 2}}};

    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        cl_mem a = filled(2 * N, 55), out = filled(N, 56);
        size_t local[2] = {LOCAL, 1};
        cl_kernel k = kernel(launches[i].name);

        set_mem(k, 0, a);
        set_mem(k, 1, out);
        for (cl_uint n = 0; n < launches[i].n_numbers; n++)
            set_uint(k, 2 + n, launches[i].numbers[n]);
        check(clEnqueueNDRangeKernel(queue, k, launches[i].global[1] > 1 ? 2 : 1, NULL, launches[i].global,
                                     local, 0, NULL, NULL),
              launches[i].name);
        say_mem(launches[i].name, a, 2 * N * sizeof(cl_uint));
        say_mem(launches[i].name, out, N * sizeof(cl_uint));
        clReleaseKernel(k);
        clReleaseMemObject(a);
        clReleaseMemObject(out);
    }
}
