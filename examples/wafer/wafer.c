/*
 * Wafer inspection (Verner et al., sec. 4.2): every 25 ms an image arrives in main memory, is split
 * 40 / 10 / 10 / 40 % over four GPUs and scanned at 10 GB/s; every 60 ms a report of the image's
 * size goes back. How large may the image be?
 *
 * Each of the two is a batch operation, so its length is known beforehand, and the two are periodic
 * tasks that a non-preemptive EDF scheduler runs one at a time. The image fits when Jeffay's test
 * says so. The sizes that the paper prints pass the first half of that test only (utilisation);
 * both are shown.
 *
 *   wafer TOPOLOGY...            the largest image by every method, beside the paper's Table 1
 *   wafer --run TOPOLOGY         one upload and one report for real, on four OpenCL devices with
 *                                the topology's links emulated at 1/8 size
 */
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baton/batch.h"

#define IMAGE_PERIOD_MS  25.0
#define REPORT_PERIOD_MS 60.0
#define SCAN_MB_PER_MS   10.0 /* 10 GB/s */
#define REDUCE           8

static const char *const gpus[] = {"GPU0", "GPU1", "GPU2", "GPU3"};
static const double share[] = {0.4, 0.1, 0.1, 0.4};
static const char *const methods[] = {"aligned", "paced", "bandwidth", "time-division"};

/* Step 1: say what the two batches are. Predictions need nodes, sizes and kernel times only. */
static void describe_upload(double megabytes, struct baton_stream streams[4])
{
    for (int g = 0; g < 4; g++)
        streams[g] = (struct baton_stream){.name = gpus[g],
                                           .from = {.node = "MEM0"},
                                           .to = {.node = gpus[g]},
                                           .bytes = (size_t)(share[g] * megabytes * 1e6),
                                           .kernel = {.predicted_ms = megabytes / SCAN_MB_PER_MS}};
}

static void describe_report(double megabytes, struct baton_stream streams[4])
{
    for (int g = 0; g < 4; g++)
        streams[g] = (struct baton_stream){.name = gpus[g],
                                           .from = {.node = gpus[g]},
                                           .to = {.node = "MEM0"},
                                           .bytes = (size_t)(share[g] * megabytes * 1e6)};
}

static double predict_ms(const char *topology, enum baton_method method, const struct baton_stream streams[4])
{
    char message[600];
    int64_t length;

    if (baton_predict(topology, method, 0, 0, streams, 4, NULL, &length, NULL, message, sizeof message)) {
        (void)fprintf(stderr, "wafer: %s: %s\n", topology, message);
        exit(2);
    }
    return (double)length / 1e6;
}

/*
 * Step 2: the schedulability test. Two tasks, lengths c1 and c2, periods p1 < p2 (Jeffay, Stanat,
 * Martel 1991): utilisation at most 1, and for every L between the periods, L >= c2 + floor((L - 1)
 * / p1) c1; in continuous time that need only be checked just after each multiple of p1.
 */
static int fits(double c1, double c2, int full_test)
{
    if (c1 / IMAGE_PERIOD_MS + c2 / REPORT_PERIOD_MS > 1)
        return 0;
    for (int k = 1; full_test && k * IMAGE_PERIOD_MS < REPORT_PERIOD_MS; k++) {
        if (c2 + k * c1 > k * IMAGE_PERIOD_MS)
            return 0;
    }
    return 1;
}

/* Step 3: the largest image, by bisection (both lengths grow with the image). */
static double largest_image(const char *topology, enum baton_method method, int full_test)
{
    double low = 1;
    double high = 4096;

    while (high - low > 1e-3) {
        double middle = (low + high) / 2;
        struct baton_stream upload[4];
        struct baton_stream report[4];

        describe_upload(middle, upload);
        describe_report(middle, report);
        if (fits(predict_ms(topology, method, upload), predict_ms(topology, method, report), full_test))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Table 1 of the paper, for the two servers whose topologies are in examples/topologies. */
static const char *paper_size(const char *topology, int method)
{
    static const char *const nehalem[] = {"82.46", "-", "59.28", "60.24"};
    static const char *const sandy_bridge[] = {"156.77", "-", "128.10", "112.58"};

    if (strstr(topology, "nehalem"))
        return nehalem[method];
    return strstr(topology, "sandy-bridge") ? sandy_bridge[method] : "-";
}

static void print_table(const char *topology)
{
    printf("%s\n%-16s %18s %22s %16s\n", topology, "largest image, MB", "utilisation only",
           "full test of Jeffay", "paper, Table 1");
    for (int m = 0; m < 4; m++)
        printf("%-16s %18.2f %22.2f %16s\n", methods[m], largest_image(topology, (enum baton_method)m, 0),
               largest_image(topology, (enum baton_method)m, 1), paper_size(topology, m));
}

/* The same two batches for real. One byte here stands for REDUCE bytes of the emulated server. */
static const char scan_source[] =
    "__kernel void scan(__global uchar *image, uint n)\n"
    "{\n"
    "    uint i = get_global_id(0);\n"
    "    if (i < n) image[i] = image[i] > 250 ? 255 : 0;\n" /* a defect is a bright dot */
    "}\n";

struct camera {
    cl_context context[4];
    cl_device_id device[4];
    cl_program program[4];
    cl_kernel scan[4];
    cl_mem part[4];
    unsigned char *image, *report;
    size_t bytes[4];
};

static void must(cl_int error, const char *what)
{
    if (error == CL_SUCCESS)
        return;
    (void)fprintf(
        stderr, "wafer: %s: OpenCL error %d (needs four devices: POCL_DEVICES=\"basic basic basic basic\")\n",
        what, error);
    exit(3);
}

static void open_camera(struct camera *camera, double megabytes)
{
    const char *source = scan_source;
    cl_platform_id platform;
    cl_uint n = 0;
    cl_int error;

    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 4, camera->device, &n), "devices");
    must(n >= 4 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND, "devices");
    camera->image = malloc((size_t)(megabytes * 1e6 / REDUCE) + 16);
    camera->report = calloc((size_t)(megabytes * 1e6 / REDUCE) + 16, 1);
    must(camera->image && camera->report ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "image");
    for (size_t i = 0; i < (size_t)(megabytes * 1e6 / REDUCE); i++)
        camera->image[i] = (unsigned char)(i * 2654435761u >> 24);
    for (int g = 0; g < 4; g++) {
        camera->bytes[g] = (size_t)(share[g] * megabytes * 1e6 / REDUCE);
        camera->context[g] = clCreateContext(NULL, 1, &camera->device[g], NULL, NULL, &error);
        must(error, "context");
        camera->program[g] = clCreateProgramWithSource(camera->context[g], 1, &source, NULL, &error);
        must(error, "program");
        must(clBuildProgram(camera->program[g], 1, &camera->device[g], "", NULL, NULL), "build");
        camera->scan[g] = clCreateKernel(camera->program[g], "scan", &error);
        must(error, "kernel");
        camera->part[g] =
            clCreateBuffer(camera->context[g], CL_MEM_READ_WRITE, camera->bytes[g], NULL, &error);
        must(error, "buffer");
    }
}

static void close_camera(struct camera *camera)
{
    for (int g = 0; g < 4; g++) {
        clReleaseMemObject(camera->part[g]);
        clReleaseKernel(camera->scan[g]);
        clReleaseProgram(camera->program[g]);
        clReleaseContext(camera->context[g]);
    }
    free(camera->image);
    free(camera->report);
}

/* Runs one batch and prints what was predicted and what was measured. */
static void run_batch(struct baton_batcher *batcher, const struct baton_stream streams[4], const char *name)
{
    struct baton_batch *batch;
    int64_t predicted;
    int64_t measured;

    if (baton_batch_start(batcher, streams, 4, &batch) != 0)
        exit(3);
    if (baton_batch_wait(batch) != 0) {
        (void)fprintf(stderr, "wafer: %s\n", baton_batch_message(batch));
        exit(3);
    }
    baton_batch_length(batch, &predicted, &measured);
    printf("%-24s predicted %8.3f ms   measured %8.3f ms\n", name, (double)predicted / 1e6,
           (double)measured / 1e6);
    baton_batch_free(batch);
}

static int check_report(const struct camera *camera)
{
    size_t n = camera->bytes[0] + camera->bytes[1] + camera->bytes[2] + camera->bytes[3];
    size_t defects = 0;

    for (size_t i = 0; i < n; i++) {
        if (camera->report[i] != (camera->image[i] > 250 ? 255 : 0)) {
            (void)fprintf(stderr, "wafer: pixel %zu is wrong\n", i);
            return 1;
        }
        defects += camera->report[i] == 255;
    }
    printf("%zu of %zu pixels are defects; every one was found\n", defects, n);
    return 0;
}

static int run(const char *topology)
{
    double megabytes = floor(largest_image(topology, BATON_ALIGNED, 1));
    struct baton_batcher_config config = {
        .size = sizeof config, .topology = topology, .emulate = topology, .emulate_ratio = REDUCE};
    struct baton_gpu on[4];
    struct baton_stream upload[4];
    struct baton_stream report[4];
    struct baton_arg args[4][2];
    struct baton_batcher *batcher;
    struct camera camera;
    cl_uint pixels[4];
    char message[600];
    size_t at = 0;
    int result;

    open_camera(&camera, megabytes);
    describe_upload(megabytes, upload);
    describe_report(megabytes, report);
    for (int g = 0; g < 4; g++) {
        on[g] = (struct baton_gpu){gpus[g], camera.context[g], camera.device[g]};
        pixels[g] = (cl_uint)camera.bytes[g];
        args[g][0] = (struct baton_arg){sizeof(cl_mem), &camera.part[g]};
        args[g][1] = (struct baton_arg){sizeof pixels[g], &pixels[g]};
        upload[g].from.host = camera.image + at;
        upload[g].to.buffer = camera.part[g];
        upload[g].bytes = report[g].bytes = camera.bytes[g];
        upload[g].kernel.kernel = camera.scan[g];
        upload[g].kernel.dimensions = 1;
        upload[g].kernel.global[0] = camera.bytes[g];
        upload[g].kernel.args = args[g];
        upload[g].kernel.n_args = 2;
        report[g].from.buffer = camera.part[g];
        report[g].to.host = camera.report + at;
        at += camera.bytes[g];
    }
    config.gpus = on;
    config.n_gpus = 4;
    if (baton_batcher_new(&config, &batcher, message, sizeof message) != 0) {
        (void)fprintf(stderr, "wafer: %s\n", message);
        return 3;
    }
    printf("an image of %.0f MB, 1/%d of it really copied\n", megabytes, REDUCE);
    run_batch(batcher, upload, "upload and scan (warm-up)");
    run_batch(batcher, upload, "upload and scan");
    run_batch(batcher, report, "report");
    baton_batcher_free(batcher);
    result = check_report(&camera);
    close_camera(&camera);
    return result;
}

int main(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], "--run") == 0)
        return run(argv[2]);
    if (argc < 2) {
        (void)fprintf(stderr, "usage: wafer TOPOLOGY... | wafer --run TOPOLOGY\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        print_table(argv[i]);
    return 0;
}
