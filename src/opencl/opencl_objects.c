#include "opencl/opencl_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/runtime.h"
#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/graph/deferred_map.h"
#include "opencl/program/program_record.h"
#include "wire/device_name.h"

static void keep_command(void *record)
{
    command_ref(&((struct opencl_command *)record)->base);
}

void object_tables_init(void)
{
    handle_table_init(&front.queues, object_keep);
    handle_table_init(&front.mems, object_keep);
    handle_table_init(&front.kernels, object_keep);
    handle_table_init(&front.programs, object_keep);
    handle_table_init(&front.samplers, object_keep);
    handle_table_init(&front.command_buffers, object_keep);
    handle_table_init(&front.events, keep_command);
}

cl_int info_answer(const void *value, size_t size, size_t room, void *ret_value, size_t *ret_size)
{
    if (ret_value && room < size)
        return CL_INVALID_VALUE;
    if (ret_value)
        memcpy(ret_value, value, size);
    if (ret_size)
        *ret_size = size;
    return CL_SUCCESS;
}

/* --- devices --- */

static unsigned index_of(cl_platform_id platform, cl_device_id device)
{
    cl_device_id list[64];
    cl_uint n = 0;

    if (front.target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, list, &n) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n && i < 64; i++)
        if (list[i] == device)
            return i;
    return 0;
}

static void name_of(cl_device_id device, cl_platform_id platform, char ret_name[DEVICE_NAME_SIZE])
{
    char text[256] = "";
    cl_device_pci_bus_info_khr pci;

    if (front.target.clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, NULL) ==
        CL_SUCCESS) {
        device_name_pci(pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function, ret_name);
        return;
    }
    front.target.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, NULL);
    text[sizeof text - 1] = 0;
    device_name_indexed(text, index_of(platform, device), ret_name);
}

static struct opencl_device *find_device(cl_device_id device)
{
    struct opencl_device *record = atomic_load(&front.devices);

    while (record && record->handle != device)
        record = record->next;
    return record;
}

static void link_device(struct opencl_device *record)
{
    record->next = atomic_load(&front.devices);
    atomic_store(&front.devices, record);
}

static void read_version(struct opencl_device *record)
{
    char text[256] = ""; /* an answer that does not fit counts as none */
    unsigned major = 0, minor = 0;
    cl_bool uneven = CL_FALSE;

    front.target.clGetDeviceInfo(record->handle, CL_DEVICE_VERSION, sizeof text, text, NULL);
    text[sizeof text - 1] = 0;
    if (sscanf(text, "OpenCL %u.%u", &major, &minor) != 2)
        return;
    record->empty_launches = major > 2 || (major == 2 && minor > 0);
    record->uneven_groups = major == 2;
    if (major > 2 && front.target.clGetDeviceInfo(record->handle, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT,
                                                  sizeof uneven, &uneven, NULL) == CL_SUCCESS)
        record->uneven_groups = uneven;
}

/* Under devices_lock. */
static struct opencl_device *make_device(cl_device_id device)
{
    struct opencl_device *record = calloc(1, sizeof *record), *root = NULL;
    char name[DEVICE_NAME_SIZE] = "";
    cl_device_id parent = NULL;

    if (!record)
        return NULL;
    record->handle = device;
    record->units = 1;
    record->address_bits = 64;
    atomic_init(&record->n_helpers, -1);
    quirks_init(&record->quirks, device);
    front.target.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof record->platform, &record->platform,
                                 NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof record->units, &record->units,
                                 NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof record->address_bits,
                                 &record->address_bits, NULL);
    read_version(record);
    /* Sub-devices share their root's engines, for which they compete with other programs. */
    if (front.target.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ==
            CL_SUCCESS &&
        parent)
        root = find_device(parent) ? find_device(parent) : make_device(parent);
    if (!root) {
        name_of(device, record->platform, name);
        session_name_device(runtime_session(), (uintptr_t)device, name);
    }
    engine_device_init(&record->base, &opencl_driver, name, root ? &root->base : NULL);
    link_device(record);
    return record;
}

struct opencl_device *device_record_of(cl_device_id device)
{
    struct opencl_device *record = find_device(device);

    if (record)
        return record;
    pthread_mutex_lock(&front.devices_lock);
    record = find_device(device);
    if (!record)
        record = make_device(device);
    pthread_mutex_unlock(&front.devices_lock);
    return record;
}

struct opencl_device *device_records(void)
{
    return atomic_load(&front.devices);
}

/* --- queues --- */

struct queue_record *queue_find(cl_command_queue handle)
{
    return handle_table_find(&front.queues, handle);
}

bool queue_lost(cl_command_queue handle)
{
    struct queue_record *queue = runtime_stopping() && runtime_off() ? queue_find(handle) : NULL;
    bool lost = queue && atomic_load(&queue->base.n_unissued) > 0;

    if (queue)
        queue_unref(queue);
    return lost;
}

void queue_unref(struct queue_record *queue)
{
    object_unref(&queue->object);
}

static void free_queue(struct object *object)
{
    free(object);
}

const struct object_class queue_class = {.free = free_queue};

static cl_command_queue note_queue(cl_command_queue handle, cl_device_id device,
                                   cl_command_queue_properties properties, const cl_queue_properties *list,
                                   size_t list_size)
{
    struct queue_record *record = handle ? calloc(1, sizeof *record) : NULL;

    if (!record)
        return handle; /* without a record everything passes through */
    object_init(&record->object, &queue_class);
    record->handle = handle;
    record->properties = properties;
    record->list_size = list_size;
    if (list_size)
        memcpy(record->list, list, list_size);
    front.target.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof record->context, &record->context,
                                       NULL);
    record->device = device_record_of(device);
    if (record->device) {
        command_queue_init(&record->base, &record->device->base,
                           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
        atomic_store(&record->device->has_queues, true);
        engine_device_use(&record->device->base);
    }
    if (!record->device || !handle_table_put(&front.queues, handle, record))
        free(record);
    if (runtime_session())
        session_register_thread(runtime_session(), gettid());
    runtime_stop_at_exit(&opencl_driver);
    return handle;
}

CL_API_ENTRY cl_command_queue CL_API_CALL entry_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                                     cl_command_queue_properties properties,
                                                                     cl_int *ret_code)
{
    cl_command_queue handle;

    if (runtime_off())
        return front.target.clCreateCommandQueue(context, device, properties, ret_code);
    /*
     * The driver's clock shows how long pieces take. The record keeps the properties that the
     * program sees.
     */
    handle =
        front.target.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, ret_code);
    if (!handle)
        handle = front.target.clCreateCommandQueue(context, device, properties, ret_code);
    return note_queue(handle, device, properties, NULL, 0);
}

CL_API_ENTRY cl_command_queue CL_API_CALL entry_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *ret_code)
{
    cl_queue_properties list[QUEUE_MAX_PROPERTIES + 3];
    cl_command_queue_properties wanted = 0;
    cl_command_queue handle = NULL;
    size_t n = 0, given;
    bool found = false;

    for (; properties && n < QUEUE_MAX_PROPERTIES && properties[n]; n += 2) {
        list[n] = properties[n];
        list[n + 1] = properties[n + 1];
        if (properties[n] == CL_QUEUE_PROPERTIES) {
            wanted = properties[n + 1];
            list[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
            found = true;
        }
    }
    given = properties ? n + 1 : 0;
    if (!found) {
        list[n++] = CL_QUEUE_PROPERTIES;
        list[n++] = CL_QUEUE_PROFILING_ENABLE;
    }
    list[n] = 0;
    /* The layer does not handle queues for kernels that enqueue kernels. */
    if (runtime_off() || wanted & CL_QUEUE_ON_DEVICE || n >= QUEUE_MAX_PROPERTIES)
        return front.target.clCreateCommandQueueWithProperties(context, device, properties, ret_code);
    handle = front.target.clCreateCommandQueueWithProperties(context, device, list, ret_code);
    if (!handle)
        handle = front.target.clCreateCommandQueueWithProperties(context, device, properties, ret_code);
    return note_queue(handle, device, wanted, properties, given * sizeof *properties);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetCommandQueueInfo(cl_command_queue handle,
                                                            cl_command_queue_info name, size_t room,
                                                            void *ret_value, size_t *ret_size)
{
    bool list = name == CL_QUEUE_PROPERTIES_ARRAY;
    struct queue_record *queue =
        !runtime_off() && (list || name == CL_QUEUE_PROPERTIES) ? queue_find(handle) : NULL;
    cl_int code;

    if (!queue)
        return front.target.clGetCommandQueueInfo(handle, name, room, ret_value, ret_size);
    code = front.target.clGetCommandQueueInfo(handle, name, 0, NULL, NULL);
    if (code == CL_SUCCESS) /* the driver knows the name */
        code = list ? info_answer(queue->list, queue->list_size, room, ret_value, ret_size)
                    : info_answer(&queue->properties, sizeof queue->properties, room, ret_value, ret_size);
    queue_unref(queue);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainCommandQueue(cl_command_queue handle)
{
    if (!runtime_off())
        object_app_retain(&front.queues, handle);
    return front.target.clRetainCommandQueue(handle);
}

/*
 * Queued commands have their own references to the handle, so they still run. Only the program's
 * references end.
 */
CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseCommandQueue(cl_command_queue handle)
{
    if (!runtime_off())
        object_app_release(&front.queues, handle);
    return front.target.clReleaseCommandQueue(handle);
}
