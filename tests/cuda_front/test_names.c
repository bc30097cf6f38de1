/*
 * Resolution: for every name, version and flag the front answers as the driver does, and gives the
 * stub of the very symbol that the driver means. Run with the front in LD_PRELOAD and the driver in
 * BATON_CUDA_LIBRARY: the CPU device, or a genuine library. No CUDA call but cuGetProcAddress, in
 * both of its versions, is made.
 *
 *     test-names         ends with `N passed, N failed`
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_abi.h"

struct row {
    const char *symbol, *base;
    int since;
};

static const struct row rows[] = {
#define NAME(symbol, base, since, form) {#symbol, #base, since},
#include "cuda_abi/names.def"
#undef NAME
};

enum { N_ROWS = sizeof rows / sizeof rows[0], PASS_KIND = 1, DRAIN_KIND, ROUTE_KIND, EXTRA_KIND };

/* The table's rows: each base has one kind. */
static const struct {
    const char *symbol, *base;
    int kind;
} entries[] = {
#define ROUTE(symbol, base, handler, arguments, stream) {#symbol, #base, ROUTE_KIND},
#define DRAIN(base)                                     {NULL, #base, DRAIN_KIND},
#define PASS(base)                                      {NULL, #base, PASS_KIND},
#define EXTRA(symbol)                                   {#symbol, #symbol, EXTRA_KIND},
#include "cuda/entries.def"
};

typedef CUresult (*first_lookup)(const char *, void **, int, uint64_t);
typedef CUresult (*lookup)(const char *, void **, int, uint64_t, CUdriverProcAddressQueryResult *);

static unsigned passed, failed;

static void check(bool good, const char *what, const char *name, int version, unsigned flags)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED: %s: %s, version %d, flags %u\n", what, name, version, flags);
}

/* Which of the base's symbols of the driver is at the address? */
static const char *symbol_at(void *driver, const char *base, const void *address)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].base, base) == 0 && dlsym(driver, rows[i].symbol) == address)
            return rows[i].symbol;
    return NULL;
}

/* Has the look-up found the stub of the symbol that the driver's look-up has found? */
static void compare_found(void *front, void *driver, const char *base, const void *stub, const void *genuine,
                          int version, unsigned flags)
{
    const char *symbol = symbol_at(driver, base, genuine);

    check(symbol != NULL, "an exported symbol", base, version, flags);
    check(symbol && stub == dlsym(front, symbol), "the stub of that symbol", base, version, flags);
}

/* By the first version of the call, which does not say why nothing is found. */
static void compare_first(void *front, void *driver, const char *base, int version, unsigned flags)
{
    first_lookup ask_front, ask_driver;
    void *stub = NULL, *genuine = NULL;
    CUresult expected;

    *(void **)&ask_front = dlsym(front, "cuGetProcAddress");
    *(void **)&ask_driver = dlsym(driver, "cuGetProcAddress");
    expected = ask_driver(base, &genuine, version, flags);
    check(ask_front(base, &stub, version, flags) == expected, "the driver's first answer", base, version,
          flags);
    check(!stub == !genuine, "something is found", base, version, flags);
    if (expected == CUDA_SUCCESS && genuine)
        compare_found(front, driver, base, stub, genuine, version, flags);
}

static void compare(void *front, void *driver, const char *base, int version, unsigned flags)
{
    CUdriverProcAddressQueryResult ours = (CUdriverProcAddressQueryResult)-1, theirs = ours;
    lookup ask_front, ask_driver;
    void *stub = NULL, *genuine = NULL;
    CUresult code, expected;

    *(void **)&ask_front = dlsym(front, "cuGetProcAddress_v2");
    *(void **)&ask_driver = dlsym(driver, "cuGetProcAddress_v2");
    code = ask_front(base, &stub, version, flags, &ours);
    expected = ask_driver(base, &genuine, version, flags, &theirs);
    check(code == expected && ours == theirs, "the driver's answer", base, version, flags);
    if (expected == CUDA_SUCCESS && genuine)
        compare_found(front, driver, base, stub, genuine, version, flags);
    compare_first(front, driver, base, version, flags);
}

/* Every version at which the base changed, one before, and the newest. */
static void compare_name(void *front, void *driver, const struct row *row)
{
    for (unsigned flags = 0; flags <= 3; flags++) {
        compare(front, driver, row->base, row->since, flags);
        compare(front, driver, row->base, row->since - 10, flags);
        compare(front, driver, row->base, CUDA_ABI_VERSION, flags);
        compare(front, driver, row->base, 12020, flags);
    }
}

static bool is_extra(const char *symbol)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (entries[i].kind == EXTRA_KIND && strcmp(entries[i].symbol, symbol) == 0)
            return true;
    return false;
}

static void check_table(void)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        int kind = 0;
        bool mixed = false;

        for (size_t j = 0; j < sizeof entries / sizeof entries[0]; j++)
            if (strcmp(entries[j].base, rows[i].base) == 0) {
                mixed = mixed || (kind && kind != entries[j].kind) || (kind && entries[j].kind != ROUTE_KIND);
                kind = entries[j].kind;
            }
        check(kind && !mixed, "one treatment", rows[i].base, rows[i].since, 0);
    }
    for (size_t j = 0; j < sizeof entries / sizeof entries[0]; j++) {
        bool known = !entries[j].symbol || is_extra(entries[j].symbol);

        for (size_t i = 0; i < N_ROWS && !known; i++)
            known = strcmp(rows[i].symbol, entries[j].symbol) == 0;
        check(known, "a symbol of names.def, or an EXTRA one", entries[j].base, 0, 0);
    }
}

int main(void)
{
    const char *path = getenv("BATON_CUDA_LIBRARY");
    void *front = dlopen("libcuda.so.1", RTLD_NOW), *driver = path ? dlopen(path, RTLD_NOW) : NULL;

    if (!front || !driver || front == driver) {
        printf("test-names: %s\n", front == driver ? "no front in front of the driver" : dlerror());
        return 2;
    }
    check_table();
    for (size_t i = 0; i < N_ROWS; i++)
        compare_name(front, driver, &rows[i]);
    compare(front, driver, "cuNoSuchCall", CUDA_ABI_VERSION, 0);
    compare(front, driver, "", CUDA_ABI_VERSION, 0);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
