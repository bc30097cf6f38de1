#include "device.h"

#include "base/file.h"
#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void keep_print(void *context, const char *text, size_t length)
{
    struct device *device = context;
    size_t room = sizeof device->printed - 1 - device->n_printed;

    length = length < room ? length : room;
    memcpy(device->printed + device->n_printed, text, length);
    device->n_printed += length;
}

void device_open(struct device *device, const char *text, size_t size)
{
    struct image_text one = {.name = "test", .text = text, .size = size};
    struct image_options options = {.log = device->log,
                                    .log_size = sizeof device->log,
                                    .haste = device->haste,
                                    .compiler = device->compiler,
                                    .no_cache = device->no_cache};
    enum cpu_status status;

    memset(device, 0, sizeof *device);
    ck_assert_int_eq(space_new(UINT64_C(1) << 36, &device->space), 0);
    ck_assert_int_eq(worker_new(device->space, &device->worker), 0);
    status = image_load(device->space, &one, 1, &options, &device->image);
    ck_assert_msg(status == CPU_OK, "%s: %s", cpu_status_text(status), device->log);
    device->launch.calls.context = device;
    device->launch.calls.print = keep_print;
}

void device_open_file(struct device *device, const char *name)
{
    char *text;
    size_t size;

    ck_assert_int_eq(file_read(harness_data(name), 64 << 20, &text, &size), 0);
    device_open(device, text, size);
    free(text);
}

void device_close(struct device *device)
{
    image_free(device->image);
    worker_free(device->worker);
    space_free(device->space);
}

void *device_memory(struct device *device, size_t size)
{
    uint64_t address;

    ck_assert_int_eq(space_allocate(device->space, size, 256, device, &address), 0);
    return (void *)(uintptr_t)address;
}

enum cpu_status device_run_3d(struct device *device, const char *entry, const unsigned grid[3],
                              const unsigned block[3], const void *parameters)
{
    device->launch.image = device->image;
    device->launch.entry = image_find_entry(device->image, entry);
    ck_assert_msg(device->launch.entry != NULL, "no entry %s", entry);
    memcpy(device->launch.grid, grid, sizeof device->launch.grid);
    memcpy(device->launch.block, block, sizeof device->launch.block);
    device->launch.parameters = parameters;
    return worker_launch(device->worker, &device->launch, &device->fault);
}

static void put(char *buffer, size_t *at, const void *value, size_t size)
{
    *at = (*at + size - 1) / size * size;
    memcpy(buffer + *at, value, size);
    *at += size;
}

enum cpu_status device_run(struct device *device, const char *entry, unsigned blocks, unsigned threads,
                           const char *format, ...)
{
    const unsigned grid[3] = {blocks, 1, 1};
    const unsigned block[3] = {threads, 1, 1};
    char buffer[4096] = {0};
    size_t at = 0;
    va_list list;

    va_start(list, format);
    for (; *format; format++) {
        if (*format == 'i') {
            int value = va_arg(list, int);

            put(buffer, &at, &value, 4);
        } else if (*format == 'l') {
            uint64_t value = va_arg(list, uint64_t);

            put(buffer, &at, &value, 8);
        } else if (*format == 'f') {
            float value = (float)va_arg(list, double);

            put(buffer, &at, &value, 4);
        } else if (*format == 'd') {
            double value = va_arg(list, double);

            put(buffer, &at, &value, 8);
        } else {
            size_t size = va_arg(list, size_t);

            memcpy(buffer + at, va_arg(list, const void *), size);
            at += size;
        }
    }
    va_end(list);
    return device_run_3d(device, entry, grid, block, buffer);
}
