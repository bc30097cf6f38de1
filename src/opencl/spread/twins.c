#include "opencl/spread/twins.h"

#include <stdlib.h>
#include <string.h>

#include "base/refs.h"
#include "opencl/layer.h"
#include "opencl/spread/spread.h"
#include "opencl/program/twin.h"

struct build;

struct spread_program {
    cl_program handles[PLACE_MAX];
    struct build *builds[PLACE_MAX]; /* builds in progress */
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

static void build_unref(struct build *build);

void spread_program_done(struct spread_program *program)
{
    if (!program)
        return;
    while (program->kernels) {
        struct spread_kernel *kernel = program->kernels;

        program->kernels = kernel->next;
        for (int place = PLACE_DEVICE; place < PLACE_MAX; place++)
            if (kernel->handles[place])
                front.target.clReleaseKernel(kernel->handles[place]);
        free(kernel->name);
        free(kernel);
    }
    for (int place = PLACE_DEVICE; place < PLACE_MAX; place++) {
        if (program->builds[place])
            build_unref(program->builds[place]);
        if (program->handles[place])
            front.target.clReleaseProgram(program->handles[place]);
    }
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

    pthread_mutex_lock(&front.builder.lock);
    if (program && program->state == TWIN_READY)
        about = translate_find(&program->result, name);
    pthread_mutex_unlock(&front.builder.lock);
    return about;
}

/* --- building --- */

/* One build for one device, independent of the program, which may end during the build. */
struct build {
    struct device_task task;
    struct refs refs; /* the program's and the thread's */
    struct further_device *device;
    /* owned: n texts, of the whole program, or of the parts that it is linked from */
    struct twin_text *texts;
    size_t n;
    char *link_options; /* owned; NULL: not linked */
    cl_program handle;  /* the result: owned until the program takes it */
    atomic_bool over;
};

static void build_unref(struct build *build)
{
    if (!refs_drop(&build->refs))
        return;
    if (build->handle)
        front.target.clReleaseProgram(build->handle);
    twin_texts_free(build->texts, build->n);
    free(build->link_options);
    free(build);
}

static bool add_text(struct build *build, const char *source, size_t length, const char *options)
{
    struct twin_text *text = &build->texts[build->n];

    text->source = source ? strndup(source, length) : NULL;
    text->length = length;
    text->options = strdup(options ? options : "");
    build->n++;
    return text->source && text->options;
}

/* What must be built, copied. NULL: the program has no rewritten text, or no memory. */
static struct build *build_of(struct program_record *program, struct further_device *device)
{
    struct build *build = calloc(1, sizeof *build);
    bool good;

    if (!build)
        return NULL;
    refs_init(&build->refs);
    build->device = device;
    pthread_mutex_lock(&front.builder.lock);
    build->texts = calloc(program->n_parts + 1, sizeof *build->texts);
    good = build->texts && program->state == TWIN_READY && program->has_result;
    if (good && program->linked) {
        build->link_options = strdup(program->options ? program->options : "");
        for (size_t i = 0; good && i < program->n_parts; i++)
            good = program->texts && add_text(build, program->texts[i].source, program->texts[i].length,
                                              program->texts[i].options);
        good = good && build->link_options;
    } else if (good) {
        good = add_text(build, program->result.source, program->result.length, program->result.options);
    }
    pthread_mutex_unlock(&front.builder.lock);
    if (!good) {
        build_unref(build);
        return NULL;
    }
    return build;
}

static cl_program make_one(const struct build *build, const struct twin_text *text)
{
    cl_program handle = twin_create(build->device->context, text->source, text->length);
    cl_int code = CL_OUT_OF_RESOURCES;

    if (handle && build->link_options)
        code = front.target.clCompileProgram(handle, 1, &build->device->handle, text->options, 0, NULL, NULL,
                                             NULL, NULL);
    else if (handle)
        code = front.target.clBuildProgram(handle, 1, &build->device->handle, text->options, NULL, NULL);
    if (handle && code != CL_SUCCESS) {
        front.target.clReleaseProgram(handle);
        handle = NULL;
    }
    return handle;
}

static cl_program make_linked(const struct build *build)
{
    cl_program *parts = calloc(build->n + 1, sizeof *parts), handle = NULL;
    size_t made = 0;

    while (parts && made < build->n && (parts[made] = make_one(build, &build->texts[made])))
        made++;
    if (parts && made == build->n && made > 0)
        handle = front.target.clLinkProgram(build->device->context, 1, &build->device->handle,
                                            build->link_options, (cl_uint)made, parts, NULL, NULL, NULL);
    for (size_t i = 0; i < made; i++)
        front.target.clReleaseProgram(parts[i]);
    free(parts);
    return handle;
}

static void run_build(struct device_task *task)
{
    struct build *build = (struct build *)(void *)task;

    build->handle = build->link_options ? make_linked(build) : make_one(build, &build->texts[0]);
    atomic_store(&build->over, true);
    build_unref(build);
}

/* The program on that device; NULL: not available, or not yet (known->builds). */
static cl_program program_on(struct spread_program *known, struct program_record *program,
                             struct further_device *device, bool now)
{
    struct build **slot = &known->builds[device->place], *build = *slot;
    cl_program handle = NULL;

    if (!build) {
        build = build_of(program, device);
        if (!build)
            return NULL;
        build->task = (struct device_task){.run = run_build, .unattended = true};
        refs_keep(&build->refs);
        if (now || !device_task_start(device, &build->task))
            run_build(&build->task);
        *slot = build;
    } else if (now && !atomic_load(
                          /*
                           * the thread is building it: build a second time; the first to finish
                           * counts
                           */
                          &build->over)) {
        *slot = NULL;
        build_unref(build);
        return program_on(known, program, device, true);
    }
    if (atomic_load(&build->over)) {
        handle = build->handle;
        build->handle = NULL;
        build_unref(build);
        *slot = NULL;
        known->failed[device->place] = !handle;
    }
    return handle;
}

bool twins_ready(struct program_record *program, struct spread_kernel *kernel, struct further_device *device,
                 bool now)
{
    struct spread_program *known = program_of(program);
    int place = device->place;

    if (kernel->handles[place])
        return true;
    if (!known || kernel->failed[place] || known->failed[place])
        return false;
    if (!known->handles[place])
        known->handles[place] = program_on(known, program, device, now);
    if (!known->handles[place])
        return false;
    kernel->handles[place] = front.target.clCreateKernel(known->handles[place], kernel->name, NULL);
    kernel->failed[place] = !kernel->handles[place];
    return kernel->handles[place] != NULL;
}
