#include "opencl/program/twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opencl/quirks/variant.h"
#include "engine/policy.h"
#include "opencl/layer.h"
#include "opencl/program/known_binaries.h"

/* Strings of a device, on the builder's stack. */
struct device_text {
    char version[256], c_version[256], extensions[8192], features[4096], driver[512];
};

static void ask(cl_device_id device, cl_device_info name, char *ret_text, size_t size)
{
    if (front.target.clGetDeviceInfo(device, name, size, ret_text, NULL) != CL_SUCCESS)
        ret_text[0] = 0;
    ret_text[size - 1] = 0;
}

static void describe(cl_device_id device, struct device_text *ret_text, struct translate_device *ret_device)
{
    cl_name_version features[64];
    size_t size = 0, at = 0;
    cl_uint bits = 64;
    cl_bool images = CL_FALSE, little = CL_TRUE;
    char version[128];

    ask(device, CL_DEVICE_VERSION, ret_text->version, sizeof ret_text->version);
    ask(device, CL_DEVICE_OPENCL_C_VERSION, ret_text->c_version, sizeof ret_text->c_version);
    ask(device, CL_DEVICE_EXTENSIONS, ret_text->extensions, sizeof ret_text->extensions);
    ask(device, CL_DEVICE_NAME, ret_text->driver, sizeof ret_text->driver - sizeof version - 1);
    ask(device, CL_DRIVER_VERSION, version, sizeof version);
    strcat(strcat(ret_text->driver, " "), version);
    ret_text->features[0] = 0;
    if (front.target.clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, sizeof features, features, &size) ==
        CL_SUCCESS)
        for (size_t i = 0;
             i < size / sizeof features[0] && at + sizeof features[0].name + 2 < sizeof ret_text->features;
             i++)
            at += (size_t)snprintf(ret_text->features + at, sizeof ret_text->features - at, "%s%s",
                                   i ? " " : "", features[i].name);
    front.target.clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    *ret_device = (struct translate_device){.version = ret_text->version,
                                            .c_version = ret_text->c_version,
                                            .extensions = ret_text->extensions,
                                            .features = ret_text->features,
                                            .driver = ret_text->driver,
                                            .address_bits = bits,
                                            .images = images == CL_TRUE,
                                            .little_endian = little == CL_TRUE};
}

/*
 * Rewrites one source for the first device of the context. If the devices of a context need
 * different texts, the build fails.
 */
static int rewrite(const struct program_record *program, cl_device_id device, enum translate_mode mode,
                   struct translate_result *ret_result)
{
    struct translate_request request = {.mode = mode, .n_sources = 1, .options = program->options};
    const char *source = program->source;
    struct device_text *text = calloc(1, sizeof *text);
    int code;

    if (!text)
        return -1;
    request.sources = &source;
    request.lengths = &program->length;
    request.headers = program->headers;
    request.n_headers = program->n_headers;
    describe(device, text, &request.device);
    code = translate_program(&request, ret_result);
    free(text);
    if (code >= 0 && program->files && strcmp(program->files, ret_result->files) != 0) {
        translate_result_done(ret_result);
        return -1;
    }
    return code;
}

/*
 * From here to the end of the build the driver's context is used, so a reference to the program
 * remains (twin_let_go() waits). False: the twin is not needed. The context is not retained
 * instead: it would outlive the program's last release of it, and some drivers then fail in a
 * second context (base/driver_quirks.def).
 */
static bool begin_building(struct program_record *program)
{
    bool needed;

    pthread_mutex_lock(&front.builder.lock);
    needed = program->building = !program->abandoned;
    pthread_mutex_unlock(&front.builder.lock);
    return needed;
}

cl_program twin_create(cl_context context, const char *text, size_t length)
{
    /* of a SPIR-V module; the rewritten one has the byte order of this machine */
    static const uint32_t magic = 0x07230203;

    if (length >= sizeof magic && !memcmp(text, &magic, sizeof magic))
        return program_from_il(context, text, length, NULL);
    return front.target.clCreateProgramWithSource(context, 1, &text, &length, NULL);
}

/* Why there is no twin, as far as known. */
struct failure {
    enum session_counter reason;
    char detail[sizeof((struct program_record *)NULL)->why_detail];
};

static void fail(struct failure *failure, enum session_counter reason, const char *detail)
{
    failure->reason = reason;
    (void)snprintf(failure->detail, sizeof failure->detail, "%s", detail);
}

/* The first line of the driver's log of a failed build. */
static void driver_refused(struct failure *failure, cl_program twin, cl_device_id device)
{
    size_t size = 0;
    char *log = NULL;

    if (front.target.clGetProgramBuildInfo(twin, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
        log = calloc(1, size + 1);
    if (log &&
        front.target.clGetProgramBuildInfo(twin, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
        log[0] = 0;
    if (log)
        log[strcspn(log, "\n")] = 0;
    fail(failure, COUNTER_UNSLICED_DRIVER, log ? log : "");
    free(log);
}

static const char files_changed[] = "an included file has changed since the build";

/* Builds the twin from one text. If NULL, *ret_failure says why. */
static cl_program make_built(struct program_record *program, struct translate_result *ret_result,
                             bool *ret_has, struct failure *ret_failure)
{
    cl_program twin;
    int code;

    fail(ret_failure, program->why_whole, program->why_detail);
    if (!program->source)
        return NULL;
    code = rewrite(program, program->device, TRANSLATE_BUILD, ret_result);
    *ret_has = code >= 0;
    fail(ret_failure, COUNTER_UNSLICED_REWRITE,
         code > 0   ? ret_result->reason
         : code < 0 ? files_changed
                    : "");
    if (code != 0 || !begin_building(program))
        return NULL;
    twin = twin_create(program->context, ret_result->source, ret_result->length);
    for (size_t i = 0; twin && i < program->n_constants; i++)
        (void)front.target.clSetProgramSpecializationConstant(
            twin, program->constants[i].id, program->constants[i].size, program->constants[i].value);
    if (twin && front.target.clBuildProgram(twin, 0, NULL, ret_result->options, NULL, NULL) != CL_SUCCESS) {
        driver_refused(ret_failure, twin, program->device);
        front.target.clReleaseProgram(twin);
        twin = NULL;
    }
    return twin;
}

enum { MAX_PARTS = 32 };

/* Adds a part's kernels to the description of the whole. */
static bool join(struct translate_result *whole, struct translate_result *part)
{
    struct translate_kernel *grown =
        realloc(whole->kernels, (whole->n_kernels + part->n_kernels + 1) * sizeof *whole->kernels);

    if (!grown)
        return false;
    memcpy(grown + whole->n_kernels, part->kernels, part->n_kernels * sizeof *grown);
    whole->kernels = grown;
    whole->n_kernels += part->n_kernels;
    part->n_kernels = 0; /* they have moved to the whole */
    return true;
}

void twin_texts_free(struct twin_text *texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++) {
        free(texts[i].source);
        free(texts[i].options);
    }
    free(texts);
}

/* *ret_texts: the rewritten texts of the parts, for other devices; the caller frees them. */
static cl_program make_linked(struct program_record *program, struct translate_result *ret_result,
                              struct twin_text **ret_texts, bool *ret_has, struct failure *ret_failure)
{
    struct twin_text *texts = calloc(program->n_parts + 1, sizeof *texts);
    cl_program parts[MAX_PARTS] = {NULL}, twin = NULL;
    size_t n = 0;
    bool good = texts && program->n_parts > 0 && program->n_parts <= MAX_PARTS && program->built &&
                begin_building(program);

    fail(ret_failure, COUNTER_UNSLICED_REWRITE, "a part of the link is not from source");
    memset(ret_result, 0, sizeof *ret_result);
    *ret_has = true;
    for (; good && n < program->n_parts; n++) {
        struct program_record *part = program->parts[n];
        struct translate_result result;
        int code = part->source && !part->lacks_header
                       ? rewrite(part, program->device, TRANSLATE_COMPILE, &result)
                       : -1;
        good = code == 0;
        if (code > 0)
            fail(ret_failure, COUNTER_UNSLICED_REWRITE, result.reason);
        if (good) {
            fail(ret_failure, COUNTER_UNSLICED_DRIVER, "");
            parts[n] = twin_create(part->context, result.source, result.length);
            good = parts[n] && join(ret_result, &result) &&
                   front.target.clCompileProgram(parts[n], 0, NULL, result.options, 0, NULL, NULL, NULL,
                                                 NULL) == CL_SUCCESS;
            texts[n] = (struct twin_text){result.source, result.options, result.length};
            result.source = result.options = NULL;
        }
        if (code >= 0)
            translate_result_done(&result);
    }
    if (good)
        twin = front.target.clLinkProgram(program->context, 0, NULL, program->options,
                                          (cl_uint)program->n_parts, parts, NULL, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        if (parts[i])
            front.target.clReleaseProgram(parts[i]);
    *ret_texts = texts;
    return twin;
}

static void make(struct program_record *program)
{
    struct translate_result result;
    struct failure failure = {.reason = COUNTER_UNSLICED_OTHER};
    struct twin_text *texts = NULL;
    bool has = false, last;
    cl_program twin = program->linked ? make_linked(program, &result, &texts, &has, &failure)
                                      : make_built(program, &result, &has, &failure);

    pthread_mutex_lock(&front.builder.lock);
    if (twin && program->abandoned) { /* during the build, twin_let_go() waits */
        pthread_mutex_unlock(&front.builder.lock);
        front.target.clReleaseProgram(twin);
        twin = NULL;
        pthread_mutex_lock(&front.builder.lock);
    }
    program->building = false;
    program->twin = twin;
    program->texts = texts;
    program->state = twin ? TWIN_READY : TWIN_FAILED;
    if (!twin) {
        program->why_whole = failure.reason;
        memcpy(program->why_detail, failure.detail, sizeof program->why_detail);
    }
    program->has_result = has;
    if (has)
        program->result = result;
    program->variants = twin ? variants_new(result.n_kernels) : NULL;
    last = refs_drop(&program->object.refs);
    pthread_cond_broadcast(&front.builder.changed);
    pthread_mutex_unlock(&front.builder.lock);
    if (last)
        program->object.class->free(&program->object);
}

static void *run_builder(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&front.builder.lock);
    while (!front.builder.stops) {
        struct program_record *program = front.builder.first;
        if (!program) {
            pthread_cond_wait(&front.builder.changed, &front.builder.lock);
            continue;
        }
        front.builder.first = program->next_queued;
        if (!front.builder.first)
            front.builder.tail = &front.builder.first;
        program->state = TWIN_MAKING;
        pthread_mutex_unlock(&front.builder.lock);
        make(program);
        pthread_mutex_lock(&front.builder.lock);
    }
    pthread_mutex_unlock(&front.builder.lock);
    return NULL;
}

bool twin_includes(const struct program_record *program)
{
    bool found = program->source && memmem(program->source, program->length, "include", strlen("include"));

    for (size_t i = 0; i < program->n_headers && !found; i++)
        found = memmem(program->headers[i].text, program->headers[i].length, "include", strlen("include"));
    return found;
}

/* Asks while the caller still has the program, and so its context. */
static bool first_device(struct program_record *program)
{
    cl_device_id devices[64];

    if (front.target.clGetContextInfo(program->context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL) !=
        CL_SUCCESS)
        return false;
    program->device = devices[0];
    return true;
}

void twin_note_files(struct program_record *program)
{
    struct translate_result result;
    char *files = NULL;

    if ((!policy_slicing() && !front.builder.wanted_too() && !known_binaries_wanted()) ||
        program->known_binary || program->lacks_header || !twin_includes(program) || !first_device(program))
        return;
    if (rewrite(program, program->device, program->mode, &result) >= 0) {
        files = result.files;
        result.files = NULL;
        translate_result_done(&result);
    }
    pthread_mutex_lock(&front.builder.lock);
    if (program->state == TWIN_NONE &&
        !program->files) /* otherwise the build's own callback has made a kernel */
        program->files = files ? files : strdup("unknown");
    else
        free(files);
    pthread_mutex_unlock(&front.builder.lock);
}

void program_wanted(struct program_record *program)
{
    if (!policy_slicing() && !front.builder.wanted_too())
        return;
    pthread_mutex_lock(&front.builder.lock);
    if (!front.builder.runs && !front.builder.stops)
        front.builder.runs = pthread_create(&front.builder.thread, NULL, run_builder, NULL) == 0;
    if (program->state == TWIN_NONE && front.builder.runs && !front.builder.stops && first_device(program)) {
        program->state = TWIN_QUEUED;
        program->next_queued = NULL;
        *front.builder.tail = program;
        front.builder.tail = &program->next_queued;
        object_ref(&program->object); /* until the twin is made */
        pthread_cond_broadcast(&front.builder.changed);
    }
    pthread_mutex_unlock(&front.builder.lock);
}

/* Under the builder's lock. */
static bool under_way(const struct program_record *program)
{
    return (program->state == TWIN_QUEUED || program->state == TWIN_MAKING) && !front.builder.stops;
}

bool program_decided(struct program_record *program, baton_nsec until_at)
{
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};
    bool waits;

    program_wanted(program);
    pthread_mutex_lock(&front.builder.lock);
    while ((waits = under_way(program)))
        if (pthread_cond_clockwait(&front.builder.changed, &front.builder.lock, CLOCK_MONOTONIC, &until) != 0)
            break;
    pthread_mutex_unlock(&front.builder.lock);
    return !waits;
}

const struct translate_kernel *program_sliceable(struct program_record *program, const char *kernel,
                                                 struct program_reason *ret_reason)
{
    const struct translate_kernel *found = NULL;

    *ret_reason = (struct program_reason){COUNTER_UNSLICED_OTHER, ""};
    if (!program)
        return NULL;
    program_wanted(program);
    pthread_mutex_lock(&front.builder.lock);
    while (under_way(program))
        pthread_cond_wait(&front.builder.changed, &front.builder.lock);
    if (program->state == TWIN_FAILED)
        *ret_reason = (struct program_reason){program->why_whole, program->why_detail};
    if (program->state == TWIN_READY) {
        found = translate_find(&program->result, kernel);
        if (found && !found->sliceable) {
            bool waits = strstr(found->reason, "wait") != NULL;

            *ret_reason = (struct program_reason){waits ? COUNTER_UNSLICED_WAITS : COUNTER_UNSLICED_CONSTRUCT,
                                                  waits ? "" : found->reason};
            found = NULL;
        }
    }
    pthread_mutex_unlock(&front.builder.lock);
    return found;
}

cl_program program_sliced(struct program_record *program)
{
    return program->twin;
}

struct variants *program_variants(struct program_record *program, const struct translate_kernel *kernel)
{
    return program->variants ? &program->variants[kernel - program->result.kernels] : NULL;
}

bool twin_let_go(struct program_record *program)
{
    bool last;

    pthread_mutex_lock(&front.builder.lock);
    if ((program->state == TWIN_QUEUED || program->state == TWIN_MAKING) &&
        refs_count(&program->object.refs) == 2) {
        program->abandoned = true; /* only the builder's reference would be left */
        while (program->building)
            pthread_cond_wait(&front.builder.changed, &front.builder.lock);
    }
    last = refs_drop(&program->object.refs);
    pthread_mutex_unlock(&front.builder.lock);
    return last;
}

void twin_done(struct program_record *program)
{
    if (program->twin)
        front.target.clReleaseProgram(program->twin);
    variants_free(program->variants, program->has_result ? program->result.n_kernels : 0);
    program->variants = NULL;
    if (program->has_result)
        translate_result_done(&program->result);
    twin_texts_free(program->texts, program->n_parts);
    program->texts = NULL;
    program->twin = NULL;
    program->has_result = false;
}

void program_stop(void)
{
    bool join_it;

    pthread_mutex_lock(&front.builder.lock);
    front.builder.stops = true;
    join_it = front.builder.runs;
    pthread_cond_broadcast(&front.builder.changed);
    pthread_mutex_unlock(&front.builder.lock);
    if (join_it)
        pthread_join(front.builder.thread, NULL);
}
