/*
 * Preloaded into a program under Baton: memory is short for libbaton-layer.so, and for nothing
 * else. From short_memory_begins() on, one of SHORT_MEMORY_OF allocations that its own code makes
 * fails. Which ones depends on SHORT_MEMORY_SEED and on the order of the program's threads. Says
 * how many at the end.
 */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void short_memory_begins(void);

static uintptr_t begin, end; /* of the layer's code */
static unsigned seed, one_of;
static atomic_uint n_asked, n_failed;
static atomic_bool begun;

static int find_layer(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libbaton-layer"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            begin = info->dlpi_addr + part->p_vaddr;
            end = begin + part->p_memsz;
        }
    }
    return 1;
}

static unsigned number(const char *name)
{
    const char *said = getenv(name);

    return said ? (unsigned)strtoul(said, NULL, 10) : 0;
}

EXPORT void short_memory_begins(void)
{
    (void)dl_iterate_phdr(find_layer, NULL);
    seed = number("SHORT_MEMORY_SEED");
    one_of = number("SHORT_MEMORY_OF");
    atomic_store(&begun, one_of > 0);
}

static bool fails(const void *caller)
{
    uint64_t x;

    if (!atomic_load(&begun) || (uintptr_t)caller < begin || (uintptr_t)caller >= end)
        return false;
    x = (atomic_fetch_add(&n_asked, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
        seed * UINT64_C(0xd1b54a32d192ed03);
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    if ((x ^ x >> 29) % one_of != 0)
        return false;
    atomic_fetch_add(&n_failed, 1);
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

__attribute__((destructor)) static void say(void)
{
    if (atomic_load(&begun))
        (void)fprintf(stderr, "short memory: %u of %u\n", atomic_load(&n_failed), atomic_load(&n_asked));
}
