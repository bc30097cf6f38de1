/*
 * usage: cuda-conformance [--only GROUP] KERNELS.ptx Exit: 0 every answer is the documented one, 1
 * some are not, 2 usage, 3 the driver cannot be used at all.
 */
#include "conformance.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    const char *kernels, *group, *program;
    CUmodule module;
    unsigned n, n_wrong;
} program;

const struct group groups[] = {
    {"streams", streams_group, false},
    {"events", events_group, false},
    {"callbacks", callbacks_group, false},
    {"threads", threads_group, false},
    {"capture", capture_group, false},
    {"capture errors", capture_errors_group, false},
    {"graphs", graphs_group, false},
    {"graph changes", graph_changes_group, false},
    {"graph memory", graph_memory_group, false},
    {"arguments", arguments_group, false},
    {"handles", handles_group, false},
    {"contexts", contexts_group, false},
    {"launches", launches_group, false},
    {"faults", faults_group, false},
    {"memory", memory_group, false},
    {"pointers", pointers_group, false},
    {"copies", copies_group, false},
    {"arrays", arrays_group, false},
    {"pools", pools_group, false},
    {"modules", modules_group, false},
    {"images", images_group, false},
    {"names", names_group, false},
    {"values", values_group, false},
    {"devices", devices_group, false},
    {"batches", batches_group, false},
    {"virtual memory", virtual_group, false},
    {"processes", processes_group, false},
    {"shared memory", ipc_group, true},
    {"failures", failures_group, false},
    {"visible devices", visible_group, true},
    {"hostile text", hostile_group, true},
    {"unsupported", unsupported_group, true},
};
const unsigned n_groups = sizeof groups / sizeof groups[0];

static const char *name_of(CUresult code)
{
    const char *name = NULL;

    return cuGetErrorName(code, &name) == CUDA_SUCCESS ? name : "an unknown code";
}

static void line(const char *what, const char *documented, const char *given, bool right)
{
    printf("%s: %s | %s | %s%s\n", program.group, what, documented, given, right ? "" : " | WRONG");
    fflush(stdout);
    program.n++;
    program.n_wrong += !right;
}

void answer(const char *what, CUresult documented, CUresult given)
{
    line(what, name_of(documented), name_of(given), documented == given);
}

void holds(const char *what, bool does)
{
    line(what, "yes", does ? "yes" : "no", does);
}

void must(CUresult code, const char *step)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "cuda-conformance: %s: %s: %s\n", program.group ? program.group : "", step,
            name_of(code));
    exit(3);
}

const char *kernels_path(void)
{
    return program.kernels;
}

char *kernels_text(void)
{
    FILE *file = fopen(program.kernels, "r");
    char *text = NULL;
    size_t room = 0;

    if (!file || getdelim(&text, &room, 0, file) < 0) {
        perror(program.kernels);
        exit(3);
    }
    fclose(file);
    return text;
}

CUcontext context_open(void)
{
    CUcontext context;

    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoad(&program.module, program.kernels));
    return context;
}

void context_close(CUcontext context)
{
    MUST(cuCtxDestroy_v2(context));
}

CUmodule module_now(void)
{
    return program.module;
}

CUfunction kernel(const char *name)
{
    CUfunction function;

    must(cuModuleGetFunction(&function, program.module, name), name);
    return function;
}

CUresult launch_one(CUfunction function, CUstream stream, void **parameters)
{
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

CUdeviceptr device_words(size_t n)
{
    CUdeviceptr address;

    MUST(cuMemAlloc_v2(&address, n * 4));
    MUST(cuMemsetD32_v2(address, 0, n));
    MUST(cuCtxSynchronize());
    return address;
}

void *pinned(size_t bytes)
{
    void *host;

    MUST(cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(host, 0, bytes);
    return host;
}

int word_at(CUdeviceptr address)
{
    int word = -1;

    MUST(cuMemcpyDtoH_v2(&word, address, sizeof word));
    return word;
}

CUstream stream_new(unsigned flags)
{
    CUstream stream;

    MUST(cuStreamCreate(&stream, flags));
    return stream;
}

struct gate gate_close(CUstream stream)
{
    struct gate gate = {pinned(4)};

    MUST(cuStreamWaitValue32_v2(stream, (uintptr_t)gate.flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    return gate;
}

void gate_open(struct gate gate)
{
    __atomic_store_n(gate.flag, 1, __ATOMIC_SEQ_CST); /* the device reads it as an atomic */
}

int run_child(const char *role, const char *argument, const char *setting)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        if (setting)
            putenv(strdup(setting));
        execl(program.program, program.program, "--child", role, argument ? argument : "", program.kernels,
              NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void group_begins(const char *name)
{
    program.group = name;
}

static int run_groups(const char *only)
{
    MUST(cuInit(0));
    for (unsigned i = 0; i < n_groups; i++) {
        if (only ? strcmp(only, groups[i].name) != 0 : groups[i].alone)
            continue;
        group_begins(groups[i].name);
        groups[i].run();
        while (cuCtxPopCurrent_v2(NULL) == CUDA_SUCCESS) /* each group begins without a context */
            ;
    }
    printf("%u answers, %u wrong\n", program.n, program.n_wrong);
    printf("%u passed, %u failed\n", program.n - program.n_wrong, program.n_wrong);
    return program.n_wrong || !program.n;
}

int main(int argc, char **argv)
{
    const char *only = NULL;

    program.program = "/proc/self/exe";
    if (argc == 5 && strcmp(argv[1], "--child") == 0) {
        program.kernels = argv[4];
        group_begins(argv[2]);
        return child_main(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "--only") == 0)
        only = argv[2];
    else if (argc != 2) {
        fprintf(stderr, "usage: cuda-conformance [--only GROUP] KERNELS.ptx\n");
        return 2;
    }
    program.kernels = argv[argc - 1];
    return run_groups(only);
}
