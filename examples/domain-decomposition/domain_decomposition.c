/*
 * Domain decomposition (Verner et al., sec. 4.2): a field too large for one GPU is cut in two, one
 * half per GPU; every iteration computes the points at the border, then exchanges borders while the
 * inner points are computed.
 *
 * domain_decomposition TOPOLOGY...
 *     predicted time of the paper's application by every method, beside its Table 1. The peer rates
 *     of the paper's servers are not printed there: compare the ratios.
 * domain_decomposition --run TOPOLOGY
 *     heat diffusion on two OpenCL devices, every step a batch, checked against the host
 */
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baton/batch.h"

#define SCATTER_BYTES  3690000000u /* both halves */
#define BOUNDARY_BYTES 295200000u  /* each way */
#define ITERATIONS     100

static const char *const methods[] = {"aligned", "paced", "bandwidth", "time-division"};
static const char *const gpus[] = {"GPU0", "GPU1"};

static double predict_ms(const char *topology, enum baton_method method, const struct baton_stream streams[],
                         size_t n)
{
    char message[600];
    int64_t length;

    if (baton_predict(topology, method, 0, 0, streams, n, NULL, &length, NULL, message, sizeof message)) {
        (void)fprintf(stderr, "domain_decomposition: %s: %s\n", topology, message);
        exit(2);
    }
    return (double)length / 1e6;
}

/* The application of the paper as four kinds of batch. */
static double whole_application_s(const char *topology, enum baton_method method)
{
    struct baton_stream scatter[2];
    struct baton_stream border[2];
    struct baton_stream exchange[4];
    struct baton_stream gather[2];

    for (int g = 0; g < 2; g++) {
        scatter[g] = (struct baton_stream){
            .from = {.node = "MEM0"}, .to = {.node = gpus[g]}, .bytes = SCATTER_BYTES / 2};
        gather[g] = (struct baton_stream){
            .from = {.node = gpus[g]}, .to = {.node = "MEM0"}, .bytes = SCATTER_BYTES / 2};
        border[g] = (struct baton_stream){.to = {.node = gpus[g]}, .kernel = {.predicted_ms = 1}};
        exchange[g] = (struct baton_stream){
            .from = {.node = gpus[g]}, .to = {.node = gpus[1 - g]}, .bytes = BOUNDARY_BYTES};
        exchange[2 + g] = (struct baton_stream){.to = {.node = gpus[g]}, .kernel = {.predicted_ms = 23}};
    }
    return (predict_ms(topology, method, scatter, 2) +
            ITERATIONS *
                (predict_ms(topology, method, border, 2) + predict_ms(topology, method, exchange, 4)) +
            predict_ms(topology, method, gather, 2)) /
           1e3;
}

static const char *paper_seconds(const char *topology, int method)
{
    static const char *const nehalem[] = {"20.03", "-", "25.59", "23.10"};
    static const char *const sandy_bridge[] = {"3.18", "-", "25.19", "6.43"};

    if (strstr(topology, "nehalem"))
        return nehalem[method];
    return strstr(topology, "sandy-bridge") ? sandy_bridge[method] : "-";
}

static void print_table(const char *topology)
{
    double batch = whole_application_s(topology, BATON_ALIGNED);

    printf("%s\n%-16s %12s %18s %20s\n", topology, "method", "predicted s", "ratio to aligned",
           "paper, Table 1, s");
    for (int m = 0; m < 4; m++) {
        double seconds = whole_application_s(topology, (enum baton_method)m);

        printf("%-16s %12.2f %18.2f %20s\n", methods[m], seconds, seconds / batch,
               paper_seconds(topology, m));
    }
}

/*
 * The run: WIDTH x HEIGHT points, the upper half on GPU0 and the lower on GPU1. Each device keeps
 * its half with one row of the neighbour beyond it (the halo). A step: compute the rows at the cut;
 * then, at once, send them to the neighbour's halo and compute the rest.
 */
#define WIDTH  1024
#define HEIGHT 512
#define HALF   (HEIGHT / 2)
#define ROWS   (HALF + 2) /* a fixed border or halo above and below */
#define STEPS  20
#define ROW    ((size_t)WIDTH * sizeof(float))

static const char diffuse_source[] =
    "__kernel void diffuse(__global const float *from, __global float *to, int first)\n"
    "{\n"
    "    int x = get_global_id(0), y = first + get_global_id(1), w = get_global_size(0), i = y * w + x;\n"
    "    float west = x > 0 ? from[i - 1] : 0.0f, east = x < w - 1 ? from[i + 1] : 0.0f;\n"
    "    to[i] = 0.2f * (from[i] + west + east + from[i - w] + from[i + w]);\n"
    "}\n";

struct half {
    cl_context context;
    cl_device_id device;
    cl_program program;
    cl_kernel diffuse;
    cl_mem field[2]; /* this step's and the next one's */
    float *host;     /* ROWS rows */
};

static void must(cl_int error, const char *what)
{
    if (error == CL_SUCCESS)
        return;
    (void)fprintf(stderr, "domain_decomposition: %s: OpenCL error %d (needs POCL_DEVICES=\"basic basic\")\n",
                  what, error);
    exit(3);
}

static void open_halves(struct half halves[2])
{
    const char *source = diffuse_source;
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_uint n = 0;
    cl_int error;

    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &n), "devices");
    must(n >= 2 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND, "devices");
    for (int g = 0; g < 2; g++) {
        struct half *half = &halves[g];

        half->device = devices[g];
        half->context = clCreateContext(NULL, 1, &devices[g], NULL, NULL, &error);
        must(error, "context");
        half->program = clCreateProgramWithSource(half->context, 1, &source, NULL, &error);
        must(error, "program");
        must(clBuildProgram(half->program, 1, &devices[g], "", NULL, NULL), "build");
        half->diffuse = clCreateKernel(half->program, "diffuse", &error);
        must(error, "kernel");
        for (int f = 0; f < 2; f++) {
            half->field[f] = clCreateBuffer(half->context, CL_MEM_READ_WRITE, ROWS * ROW, NULL, &error);
            must(error, "buffer");
        }
        half->host = calloc(ROWS, ROW);
        must(half->host ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "memory");
    }
}

static void close_halves(struct half halves[2])
{
    for (int g = 0; g < 2; g++) {
        clReleaseMemObject(halves[g].field[0]);
        clReleaseMemObject(halves[g].field[1]);
        clReleaseKernel(halves[g].diffuse);
        clReleaseProgram(halves[g].program);
        clReleaseContext(halves[g].context);
        free(halves[g].host);
    }
}

static void run_batch(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                      int64_t sums[2])
{
    struct baton_batch *batch;
    int64_t predicted;
    int64_t measured;

    if (baton_batch_start(batcher, streams, n, &batch) != 0)
        exit(3);
    if (baton_batch_wait(batch) != 0) {
        (void)fprintf(stderr, "domain_decomposition: %s\n", baton_batch_message(batch));
        exit(3);
    }
    baton_batch_length(batch, &predicted, &measured);
    sums[0] += predicted;
    sums[1] += measured;
    baton_batch_free(batch);
}

/*
 * Rows [first, first + rows) of the next field on one device. args must live until the batch is
 * started.
 */
static struct baton_stream compute(struct half *half, int g, int now, const cl_int *first, size_t rows,
                                   double ms, struct baton_arg args[3])
{
    args[0] = (struct baton_arg){sizeof(cl_mem), &half->field[now]};
    args[1] = (struct baton_arg){sizeof(cl_mem), &half->field[1 - now]};
    args[2] = (struct baton_arg){sizeof(cl_int), first};
    return (struct baton_stream){.name = "compute",
                                 .to = {.node = gpus[g]},
                                 .kernel = {.kernel = half->diffuse,
                                            .dimensions = 2,
                                            .global = {WIDTH, rows},
                                            .args = args,
                                            .n_args = 3,
                                            .predicted_ms = ms}};
}

/* One iteration: the row at the cut on both devices, then the exchange beside the inner rows. */
static void iterate(struct baton_batcher *batcher, struct half halves[2], int now, int64_t sums[2])
{
    static const cl_int cut[2] = {HALF, 1}; /* the last row of the upper half, the first of the lower */
    static const cl_int inner[2] = {1, 2};
    struct baton_arg args[2][3];
    struct baton_stream streams[4];

    for (int g = 0; g < 2; g++)
        streams[g] = compute(&halves[g], g, now, &cut[g], 1, 0.05, args[g]);
    run_batch(batcher, streams, 2, sums);
    for (int g = 0; g < 2; g++) {
        int other = 1 - g;

        streams[g] = (struct baton_stream){
            .name = "border",
            .from = {.node = gpus[g], .buffer = halves[g].field[1 - now], .offset = (size_t)cut[g] * ROW},
            .to = {.node = gpus[other],
                   .buffer = halves[other].field[1 - now],
                   .offset = g ? (HALF + 1) * ROW : 0},
            .bytes = ROW};
        streams[2 + g] = compute(&halves[g], g, now, &inner[g], HALF - 1, 0.3, args[g]);
    }
    run_batch(batcher, streams, 4, sums);
}

static void diffuse_on_host(float *field, float *scratch)
{
    for (int s = 0; s < STEPS; s++) {
        for (int y = 1; y <= HEIGHT; y++) {
            for (int x = 0; x < WIDTH; x++) {
                const float *at = field + (size_t)y * WIDTH + x;
                float west = x > 0 ? at[-1] : 0;
                float east = x < WIDTH - 1 ? at[1] : 0;

                scratch[(size_t)y * WIDTH + x] = 0.2f * (at[0] + west + east + at[-WIDTH] + at[WIDTH]);
            }
        }
        memcpy(field + WIDTH, scratch + WIDTH, HEIGHT * ROW);
    }
}

/* The largest difference between the two halves and the same steps on the host. */
static double difference(const struct half halves[2], float *field, float *scratch)
{
    double largest = 0;

    diffuse_on_host(field, scratch);
    for (size_t y = 0; y < HEIGHT; y++) {
        const float *row = halves[y >= HALF].host + (y % HALF + 1) * WIDTH;

        for (size_t x = 0; x < WIDTH; x++)
            largest = fmax(largest, fabs((double)row[x] - (double)field[(y + 1) * WIDTH + x]));
    }
    return largest;
}

static int run(const char *topology)
{
    struct baton_batcher_config config = {.size = sizeof config, .topology = topology};
    float *field = calloc((size_t)HEIGHT + 2, ROW);
    float *scratch = calloc((size_t)HEIGHT + 2, ROW);
    struct half halves[2];
    struct baton_gpu on[2];
    struct baton_stream streams[4];
    struct baton_batcher *batcher;
    int64_t sums[2] = {0, 0};
    char message[600];
    double largest;

    must(field && scratch ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "memory");
    open_halves(halves);
    for (int g = 0; g < 2; g++)
        on[g] = (struct baton_gpu){gpus[g], halves[g].context, halves[g].device};
    config.gpus = on;
    config.n_gpus = 2;
    if (baton_batcher_new(&config, &batcher, message, sizeof message) != 0) {
        (void)fprintf(stderr, "domain_decomposition: %s\n", message);
        exit(3);
    }
    for (size_t i = WIDTH; i < (size_t)(HEIGHT + 1) * WIDTH; i++)
        field[i] = (float)(i * 2654435761u % 1000);
    for (int g = 0; g < 2; g++) /* both fields: the fixed borders are never computed */
        memcpy(halves[g].host, field + (size_t)g * HALF * WIDTH, ROWS * ROW);
    for (int i = 0; i < 4; i++)
        streams[i] = (struct baton_stream){.name = "scatter",
                                           .from = {.node = "MEM0", .host = halves[i / 2].host},
                                           .to = {.node = gpus[i / 2], .buffer = halves[i / 2].field[i % 2]},
                                           .bytes = ROWS * ROW};
    run_batch(batcher, streams, 4, sums);
    for (int s = 0; s < STEPS; s++)
        iterate(batcher, halves, s % 2, sums);
    for (int g = 0; g < 2; g++)
        streams[g] = (struct baton_stream){.name = "gather",
                                           .from = {.node = gpus[g], .buffer = halves[g].field[STEPS % 2]},
                                           .to = {.node = "MEM0", .host = halves[g].host},
                                           .bytes = ROWS * ROW};
    run_batch(batcher, streams, 2, sums);
    baton_batcher_free(batcher);
    largest = difference(halves, field, scratch);
    printf("%d steps of %d x %d points on two devices: %.3f ms; the host's result differs by at most %g\n",
           STEPS, WIDTH, HEIGHT, (double)sums[1] / 1e6, largest);
    close_halves(halves);
    free(field);
    free(scratch);
    return largest < 1e-3 ? 0 : 1;
}

int main(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], "--run") == 0)
        return run(argv[2]);
    if (argc < 2) {
        (void)fprintf(stderr,
                      "usage: domain_decomposition TOPOLOGY... | domain_decomposition --run TOPOLOGY\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        print_table(argv[i]);
    return 0;
}
