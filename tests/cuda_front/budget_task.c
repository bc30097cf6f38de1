/*
 * A CUDA program whose jobs have the lengths that a test asks for (test_cuda_budgets), on the CPU
 * device with lengths by script. Prints `ready NOW`, reads the instant of its first release from
 * standard input, and prints the end of each job, from that instant on, in microseconds.
 *
 *     budget-task said|inferred PERIOD_US JOB...
 *     budget-task look SOCKET
 *
 * A job is one or several parts with a plus between them: kBLOCKS, a kernel; iCOPIES, so many
 * copies to the device; oCOPIES, from the device. The program asks for all of them and waits for
 * the end of the last. I and O are copies that are waited for one by one. A job that is not over
 * when the next one is due delays it. After the last job the program waits until standard input
 * ends.
 *
 * look: connects to batond every 0.25 ms, so that batond looks at the virtual clock. Its own timer
 * is a real one. Stops itself first: until it is continued, the clock stands.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "baton/job.h"
#include "cuda_abi/driver_calls.h"

#define SECOND INT64_C(1000000000)

enum { BYTES = 4096 };

static CUfunction kernel;
static CUdeviceptr buffer;
static void *pinned;

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static int64_t now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * SECOND + at.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec until = {at / SECOND, at % SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void set_up(void)
{
    static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry empty()\n{\n    ret;\n}\n";
    CUcontext context;
    CUmodule module;

    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&kernel, module, "empty"));
    MUST(cuMemAlloc_v2(&buffer, BYTES));
    MUST(cuMemAllocHost_v2(&pinned, BYTES));
}

static void part(char kind, unsigned n)
{
    if (kind == 'k')
        MUST(cuLaunchKernel(kernel, n, 1, 1, 16, 1, 1, 0, NULL, NULL, NULL));
    for (unsigned i = 0; kind != 'k' && i < n; i++)
        MUST(kind == 'i'   ? cuMemcpyHtoDAsync_v2(buffer, pinned, BYTES, NULL)
             : kind == 'o' ? cuMemcpyDtoHAsync_v2(pinned, buffer, BYTES, NULL)
             : kind == 'I' ? cuMemcpyHtoD_v2(buffer, pinned, BYTES)
                           : cuMemcpyDtoH_v2(pinned, buffer, BYTES));
}

static void work(const char *job)
{
    char *end = NULL;

    for (const char *at = job; at; at = *end == '+' ? end + 1 : NULL)
        part(at[0], (unsigned)strtoul(at + 1, &end, 10));
    MUST(cuCtxSynchronize());
}

static int look(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return 2;
    (void)strcpy(address.sun_path, path);
    (void)raise(SIGSTOP);
    for (;;) {
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            return 1;
        (void)close(fd);
        sleep_until(now() + SECOND / 4000);
    }
}

int main(int argc, char **argv)
{
    bool said = argc > 3 && strcmp(argv[1], "said") == 0;
    int64_t period = argc > 3 ? strtoll(argv[2], NULL, 10) * 1000 : 0;
    int64_t begin_at, release_at;

    if (argc == 3 && strcmp(argv[1], "look") == 0)
        return look(argv[2]);
    if (argc < 4)
        return 2;
    set_up();
    work("k100+I1+O1"); /* lengths are known from now on, and the leases are here */
    (void)printf("ready %" PRId64 "\n", now());
    (void)fflush(stdout);
    if (scanf("%" SCNd64, &begin_at) != 1)
        return 2;
    release_at = begin_at;
    for (int i = 3; i < argc; i++, release_at += period) {
        sleep_until(release_at);
        if (said)
            (void)baton_job_begin_at(release_at);
        work(argv[i]);
        if (said)
            (void)baton_job_end();
        (void)printf("%" PRId64 "\n", (now() - begin_at) / 1000);
        (void)fflush(stdout);
    }
    while (getchar() != EOF) {
    }
    return 0;
}
