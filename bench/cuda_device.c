/*
 * The CUDA device made of CPU cores: kernels against the same loops in C at -O2, and an empty
 * launch. Also how long a module of 20 kernels takes to load with and without the cache. Medians of
 * rounds in which the two sides alternate. Kernels are measured in processor time of the thread
 * that runs them.
 */
#include "base/clock.h"
#include "base/file.h"
#include "cuda_cpu/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 9

enum { N = 1 << 20, SIDE = 256, LAUNCHES = 2000 };

static struct space *space;
static struct worker *worker;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void *memory(size_t size)
{
    uint64_t address;

    if (space_allocate(space, size, 256, NULL, &address) < 0)
        exit(1);
    return (void *)(uintptr_t)address;
}

static struct image *load(const char *text, size_t size, bool no_cache)
{
    struct image_text one = {.text = text, .size = size};
    char log[1000];
    struct image_options options = {.log = log, .log_size = sizeof log, .no_cache = no_cache};
    struct image *image;

    if (image_load(space, &one, 1, &options, &image) != CPU_OK) {
        fprintf(stderr, "%s", log);
        exit(1);
    }
    return image;
}

static void run(const struct image *image, const char *name, uint32_t gx, uint32_t gy, uint32_t bx,
                uint32_t by, const void *parameters)
{
    struct launch launch = {.image = image,
                            .entry = image_find_entry(image, name),
                            .grid = {gx, gy, 1},
                            .block = {bx, by, 1},
                            .parameters = parameters};
    struct launch_fault fault;

    if (worker_launch(worker, &launch, &fault) != CPU_OK) {
        fprintf(stderr, "%s: %s\n", name, fault.text);
        exit(1);
    }
}

/* The same as the kernels in tests/cuda_cpu/kernels.cu, as loops. */
__attribute__((noinline)) static void add_loop(const float *a, const float *b, float *c, int n)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

__attribute__((noinline)) static void steps_loop(const float *x, float *y, float a, int n, int steps)
{
    for (int i = 0; i < n; i++) {
        float v = y[i];

        for (int s = 0; s < steps; s++)
            v = a * x[i] + v * 0.5F;
        y[i] = v;
    }
}

__attribute__((noinline)) static void product_loop(const float *a, const float *b, float *c, int n)
{
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            float sum = 0;

            for (int k = 0; k < n; k++)
                sum += a[row * n + k] * b[k * n + column];
            c[row * n + column] = sum;
        }
}

struct three {
    float *a, *b, *c;
    int n;
};
struct steps {
    float *x, *y;
    float a;
    int n, steps;
};

static double seconds_since(baton_nsec begin)
{
    return (double)(clock_now() - begin) / 1e9;
}

/* Seconds that this thread has run: kernels run on it, and other processes do not count. */
static double spent(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report(const char *what, double ratios[ROUNDS])
{
    qsort(ratios, ROUNDS, sizeof ratios[0], by_value);
    printf("%-52s %6.2f of C at -O2  (%.2f .. %.2f)\n", what, ratios[ROUNDS / 2], ratios[0],
           ratios[ROUNDS - 1]);
}

static void measure_kernels(const struct image *image)
{
    struct three p = {memory(N * 4), memory(N * 4), memory(N * 4), N};
    struct steps s = {p.a, p.b, 0.25F, N, 16};
    struct three m = {p.a, p.b, p.c, SIDE};
    double add[ROUNDS];
    double steps[ROUNDS];
    double product[ROUNDS];

    memset(p.a, 0, N * 4); /* touched before anything is measured */
    memset(p.b, 0, N * 4);
    memset(p.c, 0, N * 4);
    for (int r = 0; r < ROUNDS; r++) {
        double begin = spent();
        double c;

        add_loop(p.a, p.b, p.c, N);
        c = (spent() - begin);
        begin = spent();
        run(image, "add", N / 256, 1, 256, 1, &p);
        add[r] = c / (spent() - begin);
        begin = spent();
        steps_loop(s.x, s.y, s.a, s.n, s.steps);
        c = (spent() - begin);
        begin = spent();
        run(image, "saxpy_steps", N / 256, 1, 256, 1, &s);
        steps[r] = c / (spent() - begin);
        begin = spent();
        product_loop(m.a, m.b, m.c, m.n);
        c = (spent() - begin);
        begin = spent();
        run(image, "product", SIDE / 16, SIDE / 16, 16, 16, &m);
        product[r] = c / (spent() - begin);
    }
    report("vector addition, no barriers", add);
    report("16 multiply-adds per element, no barriers", steps);
    report("tiled product with barriers", product);
}

static void measure_launch(const struct image *image)
{
    double times[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        baton_nsec begin = clock_now();

        for (int i = 0; i < LAUNCHES; i++)
            run(image, "empty", 1, 1, 1, 1, NULL);
        times[r] = seconds_since(begin) / LAUNCHES * 1e6;
    }
    qsort(times, ROUNDS, sizeof times[0], by_value);
    printf("%-52s %6.2f us  (%.2f .. %.2f)\n", "an empty launch", times[ROUNDS / 2], times[0],
           times[ROUNDS - 1]);
}

/* The module: 20 kernels of the kind that programs have, each a copy of one of three. */
static char *module_of_twenty(size_t *ret_size)
{
    static const char body[] =
        "\n{\n.reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p<2>;\n"
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"
        "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r1, %r2, 256, %r1;\nsetp.ge.s32 %p1, %r1, %r3;\n@%p1 bra OUT;\n"
        "mul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.f32 %f1, "
        "0f3F800000;\n"
        "TOP:\nld.global.f32 %f2, [%rd4];\nfma.rn.f32 %f1, %f2, %f1, %f2;\nsqrt.rn.f32 %f3, "
        "%f1;\nst.global.f32 [%rd5], %f3;\n"
        "sub.s32 %r3, %r3, 1;\nsetp.gt.s32 %p1, %r3, 0;\n@%p1 bra TOP;\nbar.sync 0;\nOUT:\nret;\n}\n";
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_size);

    fputs(".version 8.0\n.target sm_80\n.address_size 64\n", out);
    for (int i = 0; i < 20; i++)
        fprintf(out, ".visible .entry kernel%d(.param .u64 a, .param .u64 b, .param .u32 n)%s", i, body);
    (void)fclose(out);
    return text;
}

static void measure_loading(void)
{
    size_t size;
    char *text = module_of_twenty(&size);
    double cold[3];
    double warm[ROUNDS];

    for (int r = 0; r < 3; r++) {
        baton_nsec begin = clock_now();

        image_free(load(text, size, true));
        cold[r] = seconds_since(begin);
    }
    image_free(load(text, size, false));
    for (int r = 0; r < ROUNDS; r++) {
        baton_nsec begin = clock_now();

        image_free(load(text, size, false));
        warm[r] = seconds_since(begin) * 1000;
    }
    qsort(cold, 3, sizeof cold[0], by_value);
    qsort(warm, ROUNDS, sizeof warm[0], by_value);
    printf("%-52s %6.2f s   (%.2f .. %.2f)\n", "a module of 20 kernels, compiled", cold[1], cold[0], cold[2]);
    printf("%-52s %6.2f ms  (%.2f .. %.2f)\n", "the same from the cache", warm[ROUNDS / 2], warm[0],
           warm[ROUNDS - 1]);
    free(text);
}

int main(void)
{
    struct image *image;
    char *text;
    size_t size;

    if (file_read("tests/cuda_cpu/kernels.ptx", 1 << 20, &text, &size) < 0) {
        fprintf(stderr, "bench-cuda-device: run it in the folder of the sources\n");
        return 1;
    }
    if (space_new(UINT64_C(1) << 36, &space) < 0 || worker_new(space, &worker) < 0)
        return 1;
    image = load(text, size, false);
    measure_kernels(image);
    measure_launch(image);
    measure_loading();
    image_free(image);
    free(text);
    worker_free(worker);
    space_free(space);
    return 0;
}
