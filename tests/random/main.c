/*
 * Random OpenCL programs against their own model (world.h). Prints one line per seed: the seed, a
 * hash of everything that was read; or what differed. Replayable: the same seed is the same
 * program.
 *
 * usage: random [-g] [-p] [-r] [-v] [-t THREADS] [-n STEPS] FIRST_SEED [N_SEEDS]
 *   -g  no user events (PoCL's basic device hangs on them without Baton)
 *   -p  kernels that the fake driver has, no others
 *   -r  two threads in one world, in turns
 *   -t  so many worlds at once
 *   -v  say every command
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_faults.h"
#include "world.h"

static unsigned n_threads = 1;

static unsigned run_seed(struct stage *stage, uint64_t seed)
{
    static struct world worlds[4];
    pthread_t threads[4];
    unsigned failures = 0;
    uint64_t hash = 0;

    stage->seed = seed;
    memset(worlds, 0, sizeof worlds);
    for (unsigned i = 0; i < n_threads; i++) {
        worlds[i].stage = stage;
        worlds[i].number = i;
        worlds[i].hash = 0xcbf29ce484222325u;
        random_init(&worlds[i].random, seed, i);
        if (n_threads == 1)
            run_world(&worlds[i]);
        else if (pthread_create(&threads[i], NULL, run_world, &worlds[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n_threads; i++) {
        if (n_threads > 1)
            pthread_join(threads[i], NULL);
        failures += worlds[i].failures;
        hash ^= worlds[i].hash + i;
    }
    printf("%llu %016llx%s\n", (unsigned long long)seed, (unsigned long long)hash, failures ? " FAILED" : "");
    fflush(stdout);
    return failures;
}

static bool set_up(struct stage *stage)
{
    cl_device_exec_capabilities can = 0;
    cl_uint bits = 1024;
    cl_int code = clGetPlatformIDs(1, &stage->platform, NULL);

    if (code == CL_SUCCESS)
        code = clGetDeviceIDs(stage->platform, CL_DEVICE_TYPE_ALL, 1, &stage->device, NULL);
    if (code == CL_SUCCESS)
        stage->context = clCreateContext(NULL, 1, &stage->device, NULL, NULL, &code);
    for (int i = 0; i < (stage->plain ? 1 : 2) && code == CL_SUCCESS; i++) {
        const char *text = stage->plain ? plain_source : kernel_sources[i];

        stage->programs[i] = clCreateProgramWithSource(stage->context, 1, &text, NULL, &code);
        if (code == CL_SUCCESS)
            code = clBuildProgram(stage->programs[i], 1, &stage->device, "", NULL, NULL);
    }
    if (code != CL_SUCCESS)
        fprintf(stderr, "no OpenCL: %d\n", code);
    clGetDeviceInfo(stage->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    stage->align = bits / 8;
    clGetDeviceInfo(stage->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL);
    stage->stays = driver_fault(stage->device, FAULT_MIGRATE_TO_HOST_HANGS) != NULL;
    stage->misnames = driver_fault(stage->device, FAULT_IMAGE_EVENTS_MISNAMED) != NULL;
    stage->natives = can & CL_EXEC_NATIVE_KERNEL;
    return code == CL_SUCCESS;
}

int main(int argc, char **argv)
{
    static struct stage stage = {.gates = true, .n_steps = 60};
    uint64_t first, n;
    unsigned failures = 0;
    int option;

    while ((option = getopt(argc, argv, "gprvt:n:")) != -1)
        switch (option) {
        case 'g':
            stage.gates = false;
            break;
        case 'p':
            stage.plain = true;
            break;
        case 'r':
            stage.relay = true;
            break;
        case 'v':
            stage.talks = true;
            break;
        case 't':
            n_threads = (unsigned)atoi(optarg);
            break;
        case 'n':
            stage.n_steps = (unsigned)atoi(optarg);
            break;
        default:
            return 2;
        }
    if (optind >= argc || n_threads < 1 || n_threads > 4 || !set_up(&stage))
        return 2;
    first = strtoull(argv[optind], NULL, 10);
    n = optind + 1 < argc ? strtoull(argv[optind + 1], NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + n; seed++)
        failures += run_seed(&stage, seed) > 0;
    clReleaseProgram(stage.programs[0]);
    if (stage.programs[1])
        clReleaseProgram(stage.programs[1]);
    clReleaseContext(stage.context);
    return failures != 0;
}
