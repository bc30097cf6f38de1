/*
 * Extension functions. The loader gives programs the driver's own pointers, which would bypass the
 * layer. So a function that enqueues work is replaced by the layer's, or hidden, by name.
 * Extensions that cannot work without hidden functions are not advertised.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/enqueue/command_buffer.h"
#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/program/known_binaries.h"

/* Extensions whose functions enqueue work in ways that the layer does not route. */
static const char *const hidden_extensions[] = {
    "cl_khr_command_buffer_mutable_dispatch",
    "cl_khr_command_buffer_multi_device",
    "cl_intel_unified_shared_memory",
    "cl_intel_accelerator",
    "cl_intel_advanced_motion_estimation",
    "cl_qcom_recordable_queues",
    "cl_arm_import_memory_dma_buf",
    "cl_khr_semaphore",
    "cl_khr_external_memory",
    "cl_khr_external_semaphore",
    "cl_ext_buffer_device_address",
};

/* Hidden functions; a name that begins with one of these. */
static const char *const hidden_functions[] = {
    "clCommand",
    "clCreateCommandBuffer",
    "clFinalizeCommandBuffer",
    "clRetainCommandBuffer",
    "clReleaseCommandBuffer",
    "clGetCommandBuffer",
    "clUpdateMutableCommandsKHR",
    "clGetMutableCommandInfoKHR",
    "clRemapCommandBufferKHR",
    "clEnqueue",
    "clHostMemAllocINTEL",
    "clDeviceMemAllocINTEL",
    "clSharedMemAllocINTEL",
    "clMemFreeINTEL",
    "clMemBlockingFreeINTEL",
    "clSetKernelArgMemPointerINTEL",
    "clNewRecordingQCOM",
    "clCreateSemaphoreWithPropertiesKHR",
};

/* --- cl_khr_command_buffer --- */

/* How the recording functions are called. */
enum buffer_form {
    FORM_UNKNOWN,  /* no version, an unknown version, or devices that differ: hidden */
    FORM_UNLISTED, /* 0.9.0 to 0.9.4 */
    FORM_LISTED,   /* from 0.9.5 on, with a list of properties */
};

static const char buffer_extension[] = "cl_khr_command_buffer";

static enum buffer_form form_of_version(cl_version version)
{
    return version < CL_MAKE_VERSION(0, 9, 0) || version >= CL_MAKE_VERSION(0, 10, 0) ? FORM_UNKNOWN
           : version < CL_MAKE_VERSION(0, 9, 5)                                       ? FORM_UNLISTED
                                                                                      : FORM_LISTED;
}

/* By the version that the device reports; false: it does not have the extension. */
static bool form_of_device(cl_device_id device, enum buffer_form *ret_form)
{
    cl_name_version *list = NULL;
    size_t size = 0;
    bool found = false;

    if (front.target.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &size) == CL_SUCCESS)
        list = calloc(1, size + 1);
    if (list && front.target.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, size, list, NULL) ==
                    CL_SUCCESS)
        for (size_t i = 0; i < size / sizeof *list && !found; i++)
            if (strncmp(list[i].name, buffer_extension, sizeof list[i].name) == 0) {
                *ret_form = form_of_version(list[i].version);
                found = true;
            }
    free(list);
    return found;
}

static enum buffer_form form_of_platform(cl_platform_id platform)
{
    enum buffer_form form = FORM_UNKNOWN, next;
    cl_device_id devices[64];
    bool any = false;
    cl_uint n = 0;

    if (front.target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, devices, &n) != CL_SUCCESS)
        return FORM_UNKNOWN;
    for (cl_uint i = 0; i < n && i < 64; i++)
        if (form_of_device(devices[i], &next)) {
            form = any && form != next ? FORM_UNKNOWN : next;
            any = true;
            if (form == FORM_UNKNOWN)
                break;
        }
    return form;
}

/* --- functions --- */

static void *ours(cl_platform_id platform, const char *name)
{
    /*
     * Entry points that programs ask for by name, with the suffixes that extensions used before
     * they became core.
     */
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
#define ENTRY_NAMED(entry) {#entry, (void (*)(void))entry_##entry},
        ENTRY_POINTS(ENTRY_NAMED)
#undef ENTRY_NAMED
            {"clCreateCommandQueueWithPropertiesKHR",
             (void (*)(void))entry_clCreateCommandQueueWithProperties},
        {"clCreateProgramWithILKHR", (void (*)(void))entry_clCreateProgramWithIL},
        {"clEnqueueSVMFreeARM", (void (*)(void))entry_clEnqueueSVMFree},
        {"clEnqueueSVMMemcpyARM", (void (*)(void))entry_clEnqueueSVMMemcpy},
        {"clEnqueueSVMMemFillARM", (void (*)(void))entry_clEnqueueSVMMemFill},
        {"clEnqueueSVMMapARM", (void (*)(void))entry_clEnqueueSVMMap},
        {"clEnqueueSVMUnmapARM", (void (*)(void))entry_clEnqueueSVMUnmap},
        {"clSetKernelArgSVMPointerARM", (void (*)(void))entry_clSetKernelArgSVMPointer},
        {"clSetKernelExecInfoARM", (void (*)(void))entry_clSetKernelExecInfo},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name))
            return (void *)(uintptr_t)table[i].function;
    if (command_buffer_function(name, false)) {
        enum buffer_form form = form_of_platform(platform);

        if (form != FORM_UNKNOWN)
            return (void *)(uintptr_t)command_buffer_function(name, form == FORM_LISTED);
    }
    return NULL;
}

/* platform: NULL for a call that names none, which then means the first platform. */
static void *filter(cl_platform_id platform, const char *name, void *driver)
{
    void *replacement;

    if (!driver || runtime_off() || !name)
        return driver;
    if (!platform)
        (void)front.target.clGetPlatformIDs(1, &platform, NULL);
    replacement = ours(platform, name);
    if (replacement)
        return replacement;
    for (size_t i = 0; i < sizeof hidden_functions / sizeof hidden_functions[0]; i++)
        if (!strncmp(name, hidden_functions[i], strlen(hidden_functions[i])))
            return NULL;
    return driver;
}

CL_API_ENTRY void *CL_API_CALL entry_clGetExtensionFunctionAddress(const char *name)
{
    return filter(NULL, name, front.target.clGetExtensionFunctionAddress(name));
}

CL_API_ENTRY void *CL_API_CALL entry_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                              const char *name)
{
    return filter(platform, name, front.target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

/* buffers: may command buffers be shown? */
static bool is_hidden(const char *name, size_t length, bool buffers)
{
    if (!buffers && length == strlen(buffer_extension) && !strncmp(name, buffer_extension, length))
        return true;
    for (size_t i = 0; i < sizeof hidden_extensions / sizeof hidden_extensions[0]; i++)
        if (strlen(hidden_extensions[i]) == length && !strncmp(name, hidden_extensions[i], length))
            return true;
    return false;
}

/*
 * Removes the hidden names from a list separated by spaces, in place. Answers the length without
 * the 0.
 */
static size_t strip_list(char *text, bool buffers)
{
    char *to = text;

    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " "), spaces = strspn(word + length, " ");
        if (!is_hidden(word, length, buffers)) {
            memmove(to, word, length + spaces);
            to += length + spaces;
        }
        word += length + spaces;
    }
    *to = 0;
    return (size_t)(to - text);
}

static size_t strip_versions(cl_name_version *list, size_t n, bool buffers)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_hidden(list[i].name, strnlen(list[i].name, sizeof list[i].name), buffers))
            list[kept++] = list[i];
    return kept;
}

/*
 * Answers with the driver's list, without hidden entries. bytes: the driver's answer, which may be
 * changed.
 */
static cl_int answer_stripped(cl_platform_id platform, bool versions, char *bytes, size_t size, size_t room,
                              void *ret_value, size_t *ret_size)
{
    bool buffers = form_of_platform(platform) != FORM_UNKNOWN;

    if (versions)
        size = strip_versions((cl_name_version *)(void *)bytes, size / sizeof(cl_name_version), buffers) *
               sizeof(cl_name_version);
    else
        size = strip_list(bytes, buffers) + 1;
    return info_answer(bytes, size, room, ret_value, ret_size);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetPlatformInfo(cl_platform_id platform, cl_platform_info name,
                                                        size_t room, void *ret_value, size_t *ret_size)
{
    bool versions = name == CL_PLATFORM_EXTENSIONS_WITH_VERSION;
    size_t size = 0;
    char *bytes;
    cl_int code;

    if (runtime_off() || (name != CL_PLATFORM_EXTENSIONS && !versions) ||
        front.target.clGetPlatformInfo(platform, name, 0, NULL, &size) != CL_SUCCESS ||
        !(bytes = calloc(1, size + 1)))
        return front.target.clGetPlatformInfo(platform, name, room, ret_value, ret_size);
    code = front.target.clGetPlatformInfo(platform, name, size, bytes, NULL);
    if (code == CL_SUCCESS)
        code = answer_stripped(platform, versions, bytes, size, room, ret_value, ret_size);
    free(bytes);
    return code;
}

/*
 * The driver's version with a mark, so that caches of binaries are filled anew
 * (program/known_binaries.h).
 */
static cl_int answer_version(cl_device_id device, size_t room, void *ret_value, size_t *ret_size)
{
    const char *mark = known_binaries_mark();
    size_t size = 0, longest;
    char *text;
    cl_int code;

    if (!mark[0] || front.target.clGetDeviceInfo(device, CL_DRIVER_VERSION, 0, NULL, &size) != CL_SUCCESS ||
        !(text = calloc(1, longest = size + strlen(mark) + 1)))
        return front.target.clGetDeviceInfo(device, CL_DRIVER_VERSION, room, ret_value, ret_size);
    code = front.target.clGetDeviceInfo(device, CL_DRIVER_VERSION, size, text, NULL);
    if (code == CL_SUCCESS) {
        (void)strncat(text, mark, longest - strlen(text) - 1);
        code = info_answer(text, strlen(text) + 1, room, ret_value, ret_size);
    }
    free(text);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t room,
                                                      void *ret_value, size_t *ret_size)
{
    bool versions = name == CL_DEVICE_EXTENSIONS_WITH_VERSION;
    cl_platform_id platform = NULL;
    size_t size = 0;
    char *bytes;
    cl_int code;

    if (!runtime_off() && name == CL_DRIVER_VERSION)
        return answer_version(device, room, ret_value, ret_size);
    if (runtime_off() || (name != CL_DEVICE_EXTENSIONS && !versions) ||
        front.target.clGetDeviceInfo(device, name, 0, NULL, &size) != CL_SUCCESS ||
        !(bytes = calloc(1, size + 1)))
        return front.target.clGetDeviceInfo(device, name, room, ret_value, ret_size);
    code = front.target.clGetDeviceInfo(device, name, size, bytes, NULL);
    (void)front.target.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (code == CL_SUCCESS)
        code = answer_stripped(platform, versions, bytes, size, room, ret_value, ret_size);
    free(bytes);
    return code;
}
