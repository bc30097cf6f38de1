/*
 * Names that the CPU device exports and does not implement: each answers CUDA_ERROR_NOT_SUPPORTED
 * and says its name once. They are the weak symbols of the library; a driver that has none has
 * nothing to answer here.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

static const struct {
    const char *symbol, *base;
    int since;
} rows[] = {
#define NAME(symbol, base, since, form) {#symbol, #base, since},
#include "cuda_abi/names.def"
#undef NAME
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* What the documentation of the device says is not there (docs/cuda-programs.md). */
static const char *const documented[] = {"cuMulticast", "cuGraphics", "cuCheckpoint",
                                         "cuTexRef",    "cuSurfRef",  "cuUserObject",
                                         "cuTensorMap", "cuCoredump", "cuLogs"};
static const char *const parts[] = {"External", "Conditional", "BatchMemOpNode", "UserObject",
                                    "TexRef",   "SurfRef",     "Cluster"};

static bool is_weak(void *address)
{
    const ElfW(Sym) *symbol = NULL;
    Dl_info about;

    return dladdr1(address, &about, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
}

/* Of all rows of the base, the newest. */
static bool is_newest(unsigned row)
{
    for (unsigned i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].base, rows[row].base) == 0 && rows[i].since > rows[row].since)
            return false;
    return true;
}

/* Calls a name that looks at no argument, twice. */
static bool answers_twice(void *address)
{
    CUresult (*call)(void);

    memcpy(&call, &address, sizeof call);
    for (unsigned i = 0; i < 2; i++)
        if (call() != CUDA_ERROR_NOT_SUPPORTED)
            return false;
    return true;
}

/* Lines of the text that begin with the library's name and then have exactly this name. */
static unsigned said(const char *text, const char *name)
{
    char line[160];
    unsigned n = 0;

    snprintf(line, sizeof line, "baton-cuda-cpu: %s is not supported", name);
    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
        n++;
    return n;
}

/* In a process of its own, in which no name has been said before. 0: every one is right. */
int unsupported_child(void)
{
    static const CUuuid runtime_table = {"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"};
    static const CUuuid other_table = {{1}};
    static char text[1 << 20];
    off_t before;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    FILE *words = tmpfile();
    const void *table = NULL;
    const char *refusal;
    unsigned n_wrong = 0, n_weak = 0;
    int standard = dup(2);

    if (!library || !words || standard < 0)
        return 3;
    dup2(fileno(words), 2);
    for (unsigned i = 0; i < N_ROWS; i++) {
        void *address = dlsym(library, rows[i].symbol);

        if (address && is_weak(address))
            n_wrong += !answers_twice(address);
    }
    before = lseek(2, 0, SEEK_CUR);
    n_wrong += cuGetExportTable(&table, &other_table) != CUDA_ERROR_NOT_FOUND;
    n_wrong += lseek(2, 0, SEEK_CUR) != before; /* said nothing: NVRTC asks so, and works without */
    for (unsigned i = 0; i < 2; i++)
        n_wrong += cuGetExportTable(&table, &runtime_table) != CUDA_ERROR_NOT_FOUND;
    dup2(standard, 2);
    rewind(words);
    text[fread(text, 1, sizeof text - 1, words)] = 0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        void *address = dlsym(library, rows[i].symbol);
        bool weak = address && is_weak(address);

        n_weak += weak;
        if (address && said(text, rows[i].symbol) == (weak ? 1 : 0))
            continue;
        fprintf(stderr, "%s: said %u times\n", rows[i].symbol, said(text, rows[i].symbol));
        n_wrong++;
    }
    refusal = strstr(text, "linked statically");
    n_wrong += !refusal || strstr(refusal + 1, "linked statically") || !strstr(refusal, "-cudart shared");
    fclose(words);
    fprintf(stderr, "%u of %u names are implemented\n", N_ROWS - n_weak, (unsigned)N_ROWS);
    return n_wrong != 0;
}

static bool is_documented(const char *base)
{
    for (unsigned i = 0; i < sizeof documented / sizeof documented[0]; i++)
        if (strncmp(base, documented[i], strlen(documented[i])) == 0)
            return true;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(base, parts[i]))
            return true;
    return false;
}

/* Single names that are not there in their newest form, and belong to no family above. */
static bool is_listed(const char *base)
{
    static const char *const single[] = {
#define MISSING(base) #base,
#include "missing.def"
#undef MISSING
    };

    for (unsigned i = 0; i < sizeof single / sizeof single[0]; i++)
        if (strcmp(base, single[i]) == 0)
            return true;
    return false;
}

void unsupported_group(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned n_unknown = 0;

    holds("what is not implemented answers so, and says its name once, as does a static runtime",
          run_child("unsupported", NULL, NULL) == 0);
    for (unsigned i = 0; i < N_ROWS; i++) {
        void *address = dlsym(library, rows[i].symbol);

        if (!is_newest(i) || !address || !is_weak(address) || is_documented(rows[i].base) ||
            is_listed(rows[i].base))
            continue;
        fprintf(stderr, "%s is not implemented, and no list has it\n", rows[i].base);
        n_unknown++;
    }
    holds("and is documented", n_unknown == 0);
    dlclose(library);
}
