/*
 * The demonstration programs in CUDA (driver API): the same work as urgent.c and `hog kernel`, the
 * same options and the same lines of output. Plain CUDA; nothing here knows of Baton.
 *
 *   cuda-demo urgent --calibrate MS | --steps N [--period MS] [--deadline MS] [--jobs N]
 *                    [--seconds S] [--warm N] [--list]
 *   cuda-demo hog --calibrate MS | --steps N [--rounds N] [--seconds S]
 *   cuda-demo hog --bytes N [--rounds N] [--seconds S]      copies there and back, not kernels
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "measure.h"

/*
 * Each thread takes its word so many steps along a linear congruential sequence, as `turn` of
 * device.c does.
 */
static const char TURN[] = ".version 7.0\n"
                           ".target sm_50\n"
                           ".address_size 64\n"
                           ".visible .entry turn(.param .u64 word, .param .u32 steps)\n"
                           "{\n"
                           "    .reg .pred %p1;\n"
                           "    .reg .b32 %left, %block, %size, %thread, %i, %w;\n"
                           "    .reg .b64 %base, %offset, %at;\n"
                           "    ld.param.u64 %base, [word];\n"
                           "    ld.param.u32 %left, [steps];\n"
                           "    cvta.to.global.u64 %base, %base;\n"
                           "    mov.u32 %block, %ctaid.x;\n"
                           "    mov.u32 %size, %ntid.x;\n"
                           "    mov.u32 %thread, %tid.x;\n"
                           "    mad.lo.s32 %i, %block, %size, %thread;\n"
                           "    mul.wide.u32 %offset, %i, 4;\n"
                           "    add.s64 %at, %base, %offset;\n"
                           "    ld.global.u32 %w, [%at];\n"
                           "next:\n"
                           "    setp.eq.u32 %p1, %left, 0;\n"
                           "    @%p1 bra done;\n"
                           "    mad.lo.s32 %w, %w, 1664525, 1013904223;\n"
                           "    sub.u32 %left, %left, 1;\n"
                           "    bra next;\n"
                           "done:\n"
                           "    st.global.u32 [%at], %w;\n"
                           "    ret;\n"
                           "}\n";

enum { BLOCK = 64, URGENT_ITEMS = 1024, HOG_ITEMS = 64 * 16384 };

struct program {
    CUcontext context;
    CUmodule module;
    CUfunction turn;
    CUdeviceptr words;
    uint32_t *in, *out; /* of items */
    size_t items;
    uint32_t steps;
};

static volatile sig_atomic_t ended;

static void end(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

static void must(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", call, (int)result);
    exit(3);
}

static void open_program(struct program *program, size_t items)
{
    CUdevice device;

    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&program->context, device), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(program->context), "cuCtxSetCurrent");
    must(cuModuleLoadData(&program->module, TURN), "cuModuleLoadData");
    must(cuModuleGetFunction(&program->turn, program->module, "turn"), "cuModuleGetFunction");
    must(cuMemAlloc_v2(&program->words, items * sizeof(uint32_t)), "cuMemAlloc");
    program->items = items;
    program->in = calloc(items, sizeof *program->in);
    program->out = calloc(items, sizeof *program->out);
    if (!program->in || !program->out)
        must(CUDA_ERROR_OUT_OF_MEMORY, "calloc");
}

static void launch(struct program *program)
{
    void *parameters[] = {&program->words, &program->steps};

    must(cuLaunchKernel(program->turn, (unsigned)(program->items / BLOCK), 1, 1, BLOCK, 1, 1, 0, NULL,
                        parameters, NULL),
         "cuLaunchKernel");
}

/* One job: words in, one kernel, words out. */
static void run_job(void *user, uint32_t seed)
{
    struct program *program = user;
    size_t bytes = program->items * sizeof(uint32_t);

    for (uint32_t i = 0; i < program->items; i++)
        program->in[i] = seed * (uint32_t)program->items + i;
    must(cuMemcpyHtoDAsync_v2(program->words, program->in, bytes, NULL), "cuMemcpyHtoDAsync");
    launch(program);
    must(cuMemcpyDtoHAsync_v2(program->out, program->words, bytes, NULL), "cuMemcpyDtoHAsync");
    must(cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static bool is_right(void *user)
{
    const struct program *program = user;

    for (size_t i = 0; i < program->items; i++)
        if (program->out[i] != turned(program->in[i], program->steps))
            return false;
    return true;
}

/*
 * The steps after which a job takes this long; the median of several, so that one interruption does
 * not matter.
 */
static void calibrate(struct program *program, double ms)
{
    double steps = 10;

    for (int round = 0; round < 6 && steps >= 1 && steps < 1e9; round++) {
        double took[5];

        program->steps = (uint32_t)steps;
        for (size_t i = 0; i < 5; i++) {
            double begin = now_ms();

            run_job(program, 0);
            took[i] = now_ms() - begin;
        }
        /* Short tries first, the last one to scale. */
        steps *= (round < 5 && ms > 100 ? ms / 20 : ms) / quantile(took, 5, 0.5);
    }
    printf("%.0f\n", steps < 1 ? 1 : steps);
}

/* One kernel after the other on the same words, which are checked at the end. */
static int run_hog(struct program *program, double seconds, double most)
{
    size_t bytes = program->items * sizeof(uint32_t);
    size_t rounds = 0;
    size_t wrong = 0;
    double begin;

    for (uint32_t i = 0; i < program->items; i++)
        program->in[i] = i;
    must(cuMemcpyHtoD_v2(program->words, program->in, bytes), "cuMemcpyHtoD");
    launch(program);
    must(cuStreamSynchronize(NULL), "cuStreamSynchronize");
    printf("ready\n");
    (void)fflush(stdout);
    begin = now_ms();
    while (!ended && (double)rounds < most && now_ms() - begin < seconds * 1e3) {
        launch(program);
        must(cuStreamSynchronize(NULL), "cuStreamSynchronize");
        rounds++;
    }
    seconds = (now_ms() - begin) / 1e3;
    must(cuMemcpyDtoH_v2(program->out, program->words, bytes), "cuMemcpyDtoH");
    for (uint32_t i = 0; i < program->items; i++)
        wrong += program->out[i] != turned(i, program->steps * (uint32_t)(rounds + 1));
    printf("rounds %zu seconds %.3f per_second %.4f wrong %zu\n", rounds, seconds,
           seconds > 0 ? (double)rounds / seconds : 0, wrong);
    return wrong ? 1 : 0;
}

/* There and back again; what comes back must be what went. */
static int run_copies(struct program *program, double seconds, double most)
{
    size_t bytes = program->items * sizeof(uint32_t), last = program->items - 1, rounds = 0, wrong = 0;
    double begin = 0;

    for (uint32_t i = 0; i < program->items; i++)
        program->in[i] = i;
    do {
        program->in[0]++;
        program->in[last]++;
        must(cuMemcpyHtoD_v2(program->words, program->in, bytes), "cuMemcpyHtoD");
        must(cuMemcpyDtoH_v2(program->out, program->words, bytes), "cuMemcpyDtoH");
        wrong += program->out[0] != program->in[0] || program->out[last] != program->in[last] ||
                 program->out[last / 2] != program->in[last / 2];
        if (begin > 0) {
            rounds++;
            continue;
        }
        begin = now_ms();
        printf("ready\n");
        (void)fflush(stdout);
    } while (!ended && (double)rounds < most && now_ms() - begin < seconds * 1e3);
    seconds = (now_ms() - begin) / 1e3;
    printf("rounds %zu seconds %.3f per_second %.4f wrong %zu\n", rounds, seconds,
           seconds > 0 ? (double)rounds / seconds : 0, wrong);
    return wrong ? 1 : 0;
}

/* Ends the program with status 2 if they are not right. Is it the urgent one? */
static bool read_role(int argc, char **argv)
{
    static const char *const urgent[] = {
        "calibrate=", "steps=", "period=", "deadline=", "jobs=", "seconds=", "warm=", "list", NULL};
    static const char *const hog[] = {"calibrate=", "steps=", "bytes=", "rounds=", "seconds=", NULL};
    static const char usage[] =
        "cuda-demo urgent --calibrate MS | --steps N [--period MS] [--deadline MS] [--jobs N] [--seconds S] "
        "[--warm N] [--list]\n"
        "       cuda-demo hog --calibrate MS | --steps N | --bytes N [--rounds N] [--seconds S]";
    bool is_urgent = argc > 1 && strcmp(argv[1], "urgent") == 0;

    if (!is_urgent && (argc < 2 || strcmp(argv[1], "hog") != 0)) {
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
    }
    check_options(argc, argv, 2, is_urgent ? urgent : hog, usage);
    return is_urgent;
}

int main(int argc, char **argv)
{
    static struct program program;
    bool urgent = read_role(argc, argv);
    double ms = option(argc, argv, "calibrate", 0), bytes = option(argc, argv, "bytes", 0);
    int status = 0;

    if (!urgent) /* a hog ends at the next round and prints what it did */
        signal(SIGTERM, end);
    open_program(&program, urgent ? URGENT_ITEMS : bytes >= 4 ? (size_t)bytes / sizeof(uint32_t) : HOG_ITEMS);
    program.steps = (uint32_t)option(argc, argv, "steps", 1000);
    if (ms > 0)
        calibrate(&program, ms);
    else if (urgent)
        status = run_periodically(
            &(struct measured){.run_job = run_job, .is_right = is_right, .user = &program}, argc, argv);
    else if (bytes >= 4)
        status = run_copies(&program, option(argc, argv, "seconds", 5), option(argc, argv, "rounds", 1e9));
    else
        status = run_hog(&program, option(argc, argv, "seconds", 5), option(argc, argv, "rounds", 1e9));
    free(program.in);
    free(program.out);
    (void)cuMemFree_v2(program.words);
    return status;
}
