#include "cuda_cpu/driver/handles.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda_cpu/driver/driver_state.h"

struct driver_handle {
    const void *handle; /* NULL: free; HANDLE_GONE: free, but a search continues behind it */
    const void *owner;
    enum handle_kind kind;
};

#define HANDLE_GONE ((const void *)UINTPTR_MAX)

/* Under the lock, like every static function here. */
static size_t place_of(const void *handle)
{
    uint64_t mixed = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 20) & (driver.handles.room - 1);
}

static struct driver_handle *look_up(const void *handle)
{
    struct driver_handle *entry;

    if (!driver.handles.room || !handle || handle == HANDLE_GONE)
        return NULL;
    for (size_t at = place_of(handle);; at = (at + 1) & (driver.handles.room - 1)) {
        entry = &driver.handles.entries[at];
        if (entry->handle == handle)
            return entry;
        if (!entry->handle)
            return NULL;
    }
}

static void insert(const void *handle, enum handle_kind kind, const void *owner)
{
    size_t at = place_of(handle);

    while (driver.handles.entries[at].handle)
        at = (at + 1) & (driver.handles.room - 1);
    driver.handles.entries[at] = (struct driver_handle){handle, owner, kind};
    driver.handles.used++;
}

static bool make_room(void)
{
    struct driver_handle *old = driver.handles.entries;
    size_t n = driver.handles.room, live = 0;

    if (2 * (driver.handles.used + 1) <= driver.handles.room)
        return true;
    for (size_t i = 0; i < n; i++)
        live += old[i].handle && old[i].handle != HANDLE_GONE;
    driver.handles.room = 64;
    while (driver.handles.room < 4 * (live + 1))
        driver.handles.room *= 2;
    driver.handles.entries = calloc(driver.handles.room, sizeof *driver.handles.entries);
    if (!driver.handles.entries) {
        driver.handles.entries = old;
        driver.handles.room = n;
        return false;
    }
    driver.handles.used = 0;
    for (size_t i = 0; i < n; i++)
        if (old[i].handle && old[i].handle != HANDLE_GONE)
            insert(old[i].handle, old[i].kind, old[i].owner);
    free(old);
    return true;
}

bool handle_put(const void *handle, enum handle_kind kind, const void *owner)
{
    bool done;

    pthread_mutex_lock(&driver.handles.lock);
    done = make_room();
    if (done)
        insert(handle, kind, owner);
    pthread_mutex_unlock(&driver.handles.lock);
    return done;
}

bool handle_is(const void *handle, enum handle_kind kind)
{
    const struct driver_handle *entry;
    bool found;

    pthread_mutex_lock(&driver.handles.lock);
    entry = look_up(handle);
    found = entry && entry->kind == kind;
    pthread_mutex_unlock(&driver.handles.lock);
    return found;
}

bool handle_remove(const void *handle, enum handle_kind kind)
{
    struct driver_handle *entry;
    bool found;

    pthread_mutex_lock(&driver.handles.lock);
    entry = look_up(handle);
    found = entry && entry->kind == kind;
    if (found)
        entry->handle = HANDLE_GONE;
    pthread_mutex_unlock(&driver.handles.lock);
    return found;
}

void *handle_take(const void *owner, enum handle_kind kind)
{
    const void *found = NULL;

    pthread_mutex_lock(&driver.handles.lock);
    for (size_t i = 0; i < driver.handles.room && !found; i++) {
        struct driver_handle *entry = &driver.handles.entries[i];

        if (entry->handle && entry->handle != HANDLE_GONE && entry->kind == kind && entry->owner == owner) {
            found = entry->handle;
            entry->handle = HANDLE_GONE;
        }
    }
    pthread_mutex_unlock(&driver.handles.lock);
    return (void *)found;
}
