#include "layer/spread/twins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "layer/spread/spread.h"
#include "layer/program/twin.h"

struct spread_program {
    cl_program handles[PLACE_MAX];
    bool failed[PLACE_MAX];
    struct spread_kernel *kernels;
};

static struct spread_program *program_of(struct program_record *program)
{
    struct spread_program *known = atomic_load(&program->spread);

    if (!known && (known = calloc(1, sizeof *known)))
        atomic_store(&program->spread, known);
    return known;
}

void spread_program_done(struct spread_program *program)
{
    if (!program)
        return;
    while (program->kernels) {
        struct spread_kernel *kernel = program->kernels;

        program->kernels = kernel->next;
        for (int place = PLACE_DEVICE; place < PLACE_MAX; place++)
            if (kernel->handles[place])
                target.clReleaseKernel(kernel->handles[place]);
        free(kernel->name);
        free(kernel);
    }
    for (int place = PLACE_DEVICE; place < PLACE_MAX; place++)
        if (program->handles[place])
            target.clReleaseProgram(program->handles[place]);
    free(program);
}

struct spread_kernel *twins_kernel(struct program_record *program, const char *name)
{
    struct spread_program *known = program_of(program);
    struct spread_kernel *kernel = known ? known->kernels : NULL;

    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    if (kernel || !known)
        return kernel;
    kernel = calloc(1, sizeof *kernel);
    if (!kernel || !(kernel->name = strdup(name))) {
        free(kernel);
        return NULL;
    }
    kernel->next = known->kernels;
    known->kernels = kernel;
    return kernel;
}

const struct translate_kernel *twins_about(struct program_record *program, const char *name)
{
    const struct translate_kernel *about = NULL;

    pthread_mutex_lock(&twin_lock);
    if (program && program->state == TWIN_READY)
        about = translate_find(&program->result, name);
    pthread_mutex_unlock(&twin_lock);
    return about;
}

/* The text that the twin was built from; a linked program has several and stays on its device. */
static bool has_text(struct program_record *program)
{
    bool has;

    pthread_mutex_lock(&twin_lock);
    has = program->state == TWIN_READY && !program->linked && program->has_result && program->result.source;
    pthread_mutex_unlock(&twin_lock);
    return has;
}

/*
 * The macro means nothing to the kernels. It makes each device's build a different one for the driver: PoCL 3.1 counts the users of a
 * kernel's machine code by its hash and local size, though it keeps several for different widths, and aborts
 * (pocl_release_dlhandle_cache) when two threads run equal kernels of unequal widths.
 */
static cl_program build(struct program_record *program, struct further_device *device)
{
    const char *text = program->result.source, *options = program->result.options;
    cl_program handle =
        target.clCreateProgramWithSource(device->context, 1, &text, &program->result.length, NULL);
    char *own = NULL;
    bool built;

    if (!handle || asprintf(&own, "%s -D BATON_PLACE=%d", options ? options : "", device->place) < 0)
        own = NULL;
    built = own && target.clBuildProgram(handle, 1, &device->handle, own, NULL, NULL) == CL_SUCCESS;
    free(own);
    if (handle && !built) {
        target.clReleaseProgram(handle);
        handle = NULL;
    }
    return handle;
}

bool twins_ready(struct program_record *program, struct spread_kernel *kernel, struct further_device *device)
{
    struct spread_program *known = program_of(program);
    int place = device->place;

    if (kernel->handles[place])
        return true;
    if (!known || kernel->failed[place] || known->failed[place] || !has_text(program))
        return false;
    if (!known->handles[place])
        known->handles[place] = build(program, device);
    known->failed[place] = !known->handles[place];
    if (known->handles[place])
        kernel->handles[place] = target.clCreateKernel(known->handles[place], kernel->name, NULL);
    kernel->failed[place] = !kernel->handles[place];
    return kernel->handles[place] != NULL;
}
