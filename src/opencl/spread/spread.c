#include "opencl/spread/spread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/place.h"
#include "engine/policy.h"
#include "opencl/graph/kinds.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/layer.h"
#include "opencl/program/program_record.h"
#include "opencl/spread/buffer.h"
#include "opencl/spread/landing.h"
#include "opencl/spread/spread_lock.h"
#include "opencl/spread/spread_placement.h"
#include "opencl/spread/split.h"
#include "opencl/spread/touch.h"
#include "opencl/spread/upload.h"

/* --- how many devices --- */

/* The most devices; *ret_measured: only if measurements show a gain. */
static unsigned wanted_devices(uint64_t *ret_set, bool *ret_measured)
{
    unsigned planned = policy_gpus(ret_set);

    *ret_measured = false;
    if (runtime.settings.gpus > 0)
        return runtime.settings.gpus < SHARES_MAX ? (unsigned)runtime.settings.gpus : SHARES_MAX;
    if (runtime.settings.gpus == SETTING_ALL)
        return SHARES_MAX;
    if (planned > 0)
        return planned < SHARES_MAX ? planned : SHARES_MAX;
    *ret_measured = true;
    return runtime.settings.gpus == SETTING_AUTO ? SHARES_MAX : 1;
}

/* Once: notes that more GPUs were requested than exist. */
static void note_missing(struct opencl_device *home)
{
    unsigned there = device_count_helpers(home) + 1;
    struct session *session;
    char detail[64];

    if (runtime.settings.gpus <= (int64_t)there ||
        atomic_load_explicit(&front.spread.said_fewer, memory_order_relaxed) ||
        atomic_exchange(&front.spread.said_fewer, true) || !(session = runtime_session()))
        return;
    (void)snprintf(detail, sizeof detail, "%lld asked for, %u there", (long long)runtime.settings.gpus,
                   there);
    (void)session_notice(session, NOTICE_FEWER_GPUS, "", detail);
}

unsigned spread_count_helpers(struct opencl_device *device)
{
    unsigned helpers = device_count_helpers(device);

    note_missing(device);
    return helpers;
}

bool spread_enabled(void)
{
    uint64_t set;
    bool measured;

    return wanted_devices(&set, &measured) > 1 || placement_on(NULL);
}

bool spread_idle(void)
{
    return !spread_enabled() && atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) == 0;
}

/* --- before a command --- */

struct preparing {
    struct queue_record *queue;
    bool last;       /* the caller reports an error, so it need not be stored */
    bool overwrites; /* overwrites every byte of the range, so its contents are not needed */
    cl_int code;
};

static bool is_tracked(const struct touch *touch, void *unused)
{
    (void)unused;
    return atomic_load(&mem_root(touch->mem)->spread) == NULL;
}

/* Nothing is pending, and home has every byte. */
static bool is_quiet(const struct touch *touch, void *unused)
{
    const struct spread_buffer *buffer = atomic_load(&mem_root(touch->mem)->spread);

    (void)unused;
    return !buffer ||
           (!buffer->writer && buffer->lost == CL_SUCCESS && !(touch->writes && buffer->n_readers) &&
            coherence_valid(&buffer->coherence, PLACE_HOME, (struct range){0, buffer->coherence.size}));
}

static bool note_write(const struct touch *touch, void *unused)
{
    struct spread_buffer *buffer = atomic_load(&mem_root(touch->mem)->spread);

    (void)unused;
    if (buffer && touch->writes)
        coherence_written(&buffer->coherence, PLACE_HOME, buffer_range(buffer, touch->range));
    return true;
}

static cl_int make_home_valid(struct spread_buffer *buffer, const struct touch *touch,
                              const struct preparing *preparing)
{
    struct range before = {0, buffer->coherence.size};
    struct range after = {buffer->coherence.size, buffer->coherence.size};
    cl_int code;

    if (preparing->overwrites && touch->writes && !buffer->image) {
        before.end = touch->range.begin;
        after.begin = touch->range.end;
    }
    code = buffer_make_valid(buffer, PLACE_HOME, before, preparing->queue);
    return code == CL_SUCCESS ? buffer_make_valid(buffer, PLACE_HOME, after, preparing->queue) : code;
}

static bool prepare_home(const struct touch *touch, void *data)
{
    struct preparing *preparing = data;
    struct spread_buffer *buffer = atomic_load(&mem_root(touch->mem)->spread);

    if (!buffer && policy_saves_state()) /* spread_job_ends() saves what has a record */
        buffer = buffer_of(mem_root(touch->mem));
    if (!buffer)
        return true;
    preparing->code = split_settle(buffer, touch->writes, preparing->queue);
    if (preparing->code == CL_SUCCESS)
        preparing->code = buffer->lost;
    if (preparing->last)
        buffer->lost = CL_SUCCESS;
    if (preparing->code == CL_SUCCESS)
        preparing->code = make_home_valid(buffer, touch, preparing);
    return preparing->code == CL_SUCCESS && note_write(touch, NULL);
}

static const struct translate_kernel *about_of(const struct opencl_command *command)
{
    const struct kernel_record *kernel = command->u.launch.kernel;

    if (!kind_of(command)->launch)
        return NULL;
    return twins_about(kernel->program, kernel->name);
}

static cl_int before(const struct opencl_command *command, bool last)
{
    struct preparing preparing = {
        command->queue, last, kind_of(command)->linear && kind_of(command)->from == SIDE_HOST, CL_SUCCESS};

    (void)touch_each(command, about_of(command), prepare_home, &preparing);
    return preparing.code;
}

/* With what spread_over() undoes. */
static bool admits(struct opencl_command *draft, bool blocking)
{
    bool admitted;

    if (upload_concerns(draft) ||
        (download_concerns(draft) && atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) > 0))
        return false;
    if (atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) == 0 ||
        touch_each(draft, NULL, is_tracked, NULL))
        return true;
    if (blocking) {
        landing_ends(draft); /* it waits for launches, which wait for what counts */
        spread_lock();
        admitted =
            /* otherwise the worker finds the same error, and its event reports it */
            before(draft, false) == CL_SUCCESS && landing_begins(draft);
    } else if (spread_trylock()) {
        admitted = touch_each(draft, about_of(draft), is_quiet, NULL);
        if (admitted)
            (void)touch_each(draft, about_of(draft), note_write, NULL);
    } else {
        return false;
    }
    spread_unlock();
    return admitted;
}

bool spread_admits(struct opencl_command *draft, bool blocking)
{
    /* first, so that a launch that begins to share its buffers waits for it */
    bool admitted = (!spread_enabled() || landing_begins(draft)) && admits(draft, blocking);

    if (!admitted)
        landing_ends(draft);
    return admitted;
}

void spread_over(struct opencl_command *command)
{
    landing_ends(command);
}

/* --- launches --- */

bool spread_wants(const struct opencl_command *draft)
{
    struct kernel_record *kernel = draft->u.launch.kernel;
    struct spread_kernel *known;
    bool measured, wants = true;
    uint64_t set;

    if (!spread_enabled())
        return false;
    if (!kernel->program || device_count_helpers(draft->queue->device) == 0)
        return false;
    if (placement_on(draft->queue->device))
        return true;
    if (wanted_devices(&set, &measured) < 2)
        return false;
    if (!spread_trylock())
        return true;
    known = twins_kernel(kernel->program, kernel->name);
    if (!known || known->decision.never ||
        (measured && !decide_worth_it(&known->decision, launch_items(&draft->u.launch))))
        wants = false;
    spread_unlock();
    return wants;
}

bool spread_concerns(struct opencl_command *command)
{
    if (!spread_possible(command->queue->device))
        return false;
    if ((kind_of(command)->cut_by_time && spread_wants(command)) || upload_concerns(command))
        return true;
    if (spread_enabled() && !landing_begins(command))
        return true;
    if (atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) == 0 ||
        touch_each(command, NULL, is_tracked, NULL))
        return false;
    landing_ends(command); /* spread_issue() waits for launches, which wait for what counts */
    return true;
}

static cl_int run_placed(struct device_engine *engine, struct opencl_command *command,
                         const struct translate_kernel *about, bool *ret_done)
{
    struct further_device *device = placement_device(command->queue->device);
    struct split *split = device ? split_plan_on(command, about, device) : NULL;

    return split ? split_run_on(split, engine, command, ret_done) : CL_SUCCESS;
}

static struct split *plan_split(const struct opencl_command *command, const struct translate_kernel *about,
                                bool measured)
{
    struct placement_team team;
    uint64_t set;
    unsigned devices = wanted_devices(&set, &measured);

    placement_team(command->queue->device, devices, set, &team);
    return split_plan(command, about, &team, measured);
}

cl_int spread_issue(struct device_engine *engine, struct opencl_command *command, bool *ret_done)
{
    const struct translate_kernel *about = NULL;
    struct program_reason reason;
    struct split *split = NULL;
    bool measured;
    uint64_t set;
    unsigned devices = wanted_devices(&set, &measured);
    cl_int code = CL_SUCCESS;

    *ret_done = false;
    /* waits for the twin, so without the lock */
    if (kind_of(command)->cut_by_time && spread_wants(command))
        about = program_sliceable(command->u.launch.kernel->program, command->u.launch.kernel->name, &reason);
    spread_lock();
    if (about && devices > 1)
        split = plan_split(command, about, measured);
    if (split)
        code = split_run(split, engine, command, ret_done);
    else if (about && placement_on(command->queue->device))
        code = run_placed(engine, command, about, ret_done);
    else if (upload_concerns(command))
        upload_to_chosen(command, ret_done);
    else if (download_concerns(command))
        download_from_there(command, ret_done);
    if (code == CL_SUCCESS && !*ret_done)
        code = before(command, true);
    if (code == CL_SUCCESS && !*ret_done && !landing_begins(command))
        code = CL_OUT_OF_HOST_MEMORY;
    if (code == CL_SUCCESS && !*ret_done && upload_concerns(command))
        upload_to_home(command);
    spread_unlock();
    return code;
}

void spread_ran_alone(struct kernel_record *kernel, size_t items, int64_t ns)
{
    struct spread_kernel *known;
    bool measured;
    uint64_t set;

    if (wanted_devices(&set, &measured) < 2 || !measured || !kernel->program || !spread_trylock())
        return;
    known = twins_kernel(kernel->program, kernel->name);
    if (known)
        decide_ran_alone(&known->decision, items, ns);
    spread_unlock();
}

/* --- the end of things --- */

enum { SAVED_MAX = 256 }; /* buffers of one job */

/*
 * A queue of the layer on the program's own device, which the caller releases. False: not
 * available.
 */
static bool open_home(cl_context context, struct queue_record *ret_queue)
{
    cl_device_id devices[CONTEXT_DEVICES];
    struct opencl_device *home = NULL;
    size_t size = 0;

    *ret_queue = (struct queue_record){.context = context, .base.in_order = true};
    if (front.target.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) !=
        CL_SUCCESS)
        return false;
    for (size_t i = 0; i < size / sizeof *devices && !home; i++) {
        home = device_record_of(devices[i]);
        if (home && !atomic_load_explicit(&home->has_queues, memory_order_relaxed))
            home = NULL; /* the program does not use this device */
    }
    ret_queue->device = home;
    ret_queue->handle =
        home ? front.target.clCreateCommandQueue(context, home->handle, CL_QUEUE_PROFILING_ENABLE, NULL)
             : NULL;
    return ret_queue->handle != NULL;
}

/* The buffer's queue for saves, which stays with the buffer. False: none can be had. */
static bool open_saver(struct spread_buffer *buffer, cl_context context, struct queue_record *ret_queue)
{
    if (!buffer->saver) {
        if (!open_home(context, ret_queue))
            return false;
        buffer->saver = ret_queue->handle;
        buffer->saver_device = ret_queue->device;
    }
    *ret_queue = (struct queue_record){
        .context = context, .base.in_order = true, .handle = buffer->saver, .device = buffer->saver_device};
    return true;
}

/* Copies what only a GPU has of the buffer to the host's shadow. */
static void save_buffer(struct mem_record *root)
{
    struct spread_buffer *buffer = atomic_load(&root->spread);
    struct queue_record queue;

    if (!buffer || buffer->image || buffer->writer || buffer_is_open(buffer) ||
        buffer_missing(buffer, PLACE_HOST, (struct range){0, buffer->coherence.size}) == 0 ||
        !open_saver(buffer, root->context, &queue))
        return;
    (void)buffer_make_valid(buffer, PLACE_HOST, (struct range){0, buffer->coherence.size}, &queue);
}

void spread_job_ends(void)
{
    cl_mem handles[SAVED_MAX];
    size_t n;

    if (!policy_saves_state() || atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) == 0)
        return;
    n = buffer_list(handles, SAVED_MAX);
    for (size_t i = 0; i < n; i++) {
        struct mem_record *mem = mem_find(handles[i]);

        if (!mem)
            continue;
        spread_lock();
        save_buffer(mem_root(mem));
        spread_unlock();
        mem_unref(mem);
    }
}

void spread_job_over(void)
{
    placement_job_over();
}

void spread_pin(struct mem_record *root)
{
    struct spread_buffer *buffer = atomic_load(&root->spread);
    struct queue_record queue;

    atomic_store(&root->pinned, true);
    if (!buffer || !open_home(root->context, &queue))
        return;
    spread_lock();
    if (split_settle(buffer, true, &queue) == CL_SUCCESS)
        (void)buffer_make_valid(buffer, PLACE_HOME, (struct range){0, root->size}, &queue);
    spread_unlock();
    front.target.clReleaseCommandQueue(queue.handle);
}

void spread_forget(struct mem_record *mem)
{
    struct spread_buffer *buffer = atomic_load(&mem->spread);

    if (buffer)
        buffer_done(buffer);
}

void spread_stop(void)
{
    struct session *session = atomic_load(&runtime.session);

    if (session)
        place_leave(session); /* a worker may wait for its job's GPU */
    landing_wake();
    device_stop_all();
}
