/*
 * C text to loaded code: the cache on disk, the compiler in a child process, and the dynamic
 * loader.
 */
#include "base/file.h"
#include "cuda_cpu/device_state.h"
#include "cuda_cpu/image_private.h"
#include "translate/cache.h"
#include "translate/child.h"
#include "translate/hash.h"
#include "translate/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { MEMORY_KILOBYTES = 6 << 20, SECONDS = 300 };

static const char common_flags[] =
    "-std=gnu17 -w -fPIC -shared -fvisibility=hidden -fwrapv -fno-strict-aliasing -ffp-contract=off "
    "-fno-math-errno "
    "-fno-trapping-math -fno-stack-protector -fstack-clash-protection -fomit-frame-pointer "
    "-ftree-vectorize";

/* Without it gcc vectorises few loops at -O2. clang does not know the option. */
static const char gcc_flags[] = "-fvect-cost-model=dynamic";

/* Options for what this processor has beyond the least of its architecture. */
static const char *processor_flags(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return "-march=x86-64-v3";
    return "-msse2";
#else
    return "";
#endif
}

static const char *level_flag(const struct image_options *options)
{
    static const char *const levels[] = {[IMAGE_WELL] = "-O2", [IMAGE_SOON] = "-Og", [IMAGE_AT_ONCE] = "-O0"};

    return levels[options->haste];
}

static void make_key(const char *text, size_t size, const struct image_options *options,
                     char ret_key[HASH_TEXT])
{
    struct hash hash;
    uint8_t digest[HASH_BYTES];

    hash_init(&hash);
    hash_add(&hash, common_flags, sizeof common_flags);
    hash_add(&hash, gcc_flags, sizeof gcc_flags);
    hash_add(&hash, processor_flags(), strlen(processor_flags()) + 1);
    hash_add(&hash, level_flag(options), strlen(level_flag(options)) + 1);
    hash_add(&hash, text, size);
    hash_end(&hash, digest);
    hash_print(digest, ret_key);
}

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* A path without quotes; the caller frees it. NULL: there is none. */
static char *find_compiler(const struct image_options *options)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *named = options->compiler ? options->compiler : secure_getenv("BATON_CUDA_CPU_CC");
    const char *path = secure_getenv("PATH");
    char *found = NULL;

    if (named && named[0])
        return named[0] == '/' && !strchr(named, '\'') && is_program(named) ? strdup(named) : NULL;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        for (const char *at = path ? path : "/usr/bin:/bin"; *at; at += strcspn(at, ":"), at += *at == ':') {
            int n = (int)strcspn(at, ":");

            if (at[0] != '/' || memchr(at, '\'', (size_t)n) ||
                asprintf(&found, "%.*s/%s", n, at, names[i]) < 0)
                continue;
            if (is_program(found))
                return found;
            free(found);
            found = NULL;
        }
    return NULL;
}

/* A memory file with the bytes; -1: none. */
static int memory_of(const char *name, const char *bytes, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0 || file_write_all(fd, bytes, size) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* A name below the folder for temporary files that no process guesses; the caller frees it. */
static char *name_folder(void)
{
    const char *base = secure_getenv("TMPDIR");
    uint64_t random;
    char *folder;

    if (!base || base[0] != '/' || strchr(base, '\''))
        base = "/tmp";
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random ||
        asprintf(&folder, "%s/baton-cuda-%016" PRIx64, base, random) < 0)
        return NULL;
    return folder;
}

/*
 * The shell makes the folder and removes it, also if this process has died meanwhile. The answer is
 * the code and a mark, or what the compiler said.
 */
static int write_script(char **ret_script, const char *compiler, const char *folder, int text,
                        const struct image_options *options)
{
    const bool keep = secure_getenv("BATON_CUDA_CPU_KEEP") != NULL;
    int n =
        asprintf(ret_script,
                 "unset LD_PRELOAD LD_LIBRARY_PATH\n"
                 "folder='%s'\ncompiler='%s'\n"
                 "trap 'exit 1' HUP INT TERM\ntrap '' PIPE\n%s"
                 "mkdir -m 700 \"$folder\" && cd \"$folder\" || exit 1\n"
                 "export TMPDIR=\"$folder\"\n"
                 "cat /proc/%d/fd/%d >unit.c || exit 1\n"
                 "ulimit -t %d\nulimit -v %d 2>/dev/null\n"
                 "case \"$(\"$compiler\" --version 2>&1 </dev/null)\" in\n"
                 "*clang*) more= ;;\n*) more=%s ;;\nesac\n"
                 "if \"$compiler\" %s %s %s $more -o unit.so unit.c -lm </dev/null >said 2>&1\n"
                 "then cat unit.so && echo BATON-DONE\nelse cat said\nfi\n",
                 folder, compiler, keep ? "" : "trap 'cd /; rm -rf \"$folder\"' EXIT\n", (int)getpid(), text,
                 SECONDS, MEMORY_KILOBYTES, gcc_flags, level_flag(options), common_flags, processor_flags());

    return n < 0 ? -ENOMEM : 0;
}

/* Runs the compiler on the text. What it says of a failure goes to the log. */
static enum cpu_status run_compiler(const char *compiler, const char *folder, int text,
                                    const struct image_options *options, char **ret_code, size_t *ret_size,
                                    char *log, size_t log_size)
{
    static const char done[] = "BATON-DONE\n";
    const size_t mark = sizeof done - 1;
    uint8_t *answer = NULL;
    size_t n = 0;
    int status;
    char *script;
    int r;

    if (write_script(&script, compiler, folder, text, options) < 0)
        return CPU_OUT_OF_MEMORY;
    r = child_ask("/bin/sh", (const uint8_t *)script, strlen(script), SECONDS * NSEC_PER_SEC,
                  RECORD_LARGEST / 2 + mark, &answer, &n, &status);
    free(script);
    if (r < 0) {
        file_remove_folder(folder); /* the shell may have been ended */
        (void)snprintf(log, log_size, "the C compiler %s: %s", compiler,
                       r == -ETIMEDOUT ? "took too long" : strerror(-r));
        return CPU_COMPILER_FAILED;
    }
    if (n <= mark || memcmp(answer + n - mark, done, mark) != 0) {
        (void)snprintf(log, log_size, "the C compiler %s failed: %.*s", compiler, n > 2000 ? 2000 : (int)n,
                       (const char *)answer);
        free(answer);
        return CPU_COMPILER_FAILED;
    }
    *ret_code = (char *)answer;
    *ret_size = n - mark;
    return CPU_OK;
}

static enum cpu_status compile(const char *text, size_t size, const struct image_options *options,
                               char **ret_code, size_t *ret_size, char *log, size_t log_size)
{
    char *compiler = find_compiler(options);
    char *folder = compiler ? name_folder() : NULL;
    int fd = folder ? memory_of("baton-device-text", text, size) : -1;
    enum cpu_status status = CPU_SYSTEM;

    if (!compiler) {
        (void)snprintf(log, log_size, "%s", cpu_status_text(CPU_NO_COMPILER));
        return CPU_NO_COMPILER;
    }
    if (fd >= 0) {
        status = run_compiler(compiler, folder, fd, options, ret_code, ret_size, log, log_size);
        (void)close(fd);
    } else {
        (void)snprintf(log, log_size, "no temporary file for the C compiler");
    }
    free(folder);
    free(compiler);
    return status;
}

/* The code of the cache entry, if that entry is complete. */
static bool read_cache(const char *folder, const char *key, char **ret_code, size_t *ret_size)
{
    uint8_t *bytes;
    size_t n;
    size_t position = 0;
    struct record record;
    bool found = false;

    if (!folder || cache_read(folder, key, &bytes, &n) < 0)
        return false;
    if (record_check(bytes, n) == 0 && record_next(bytes, n, &position, &record) == 0 &&
        memcmp(record.tag, "CODE", 4) == 0) {
        *ret_code = malloc(record.length ? record.length : 1);
        if (*ret_code) {
            memcpy(*ret_code, record.bytes, record.length);
            *ret_size = record.length;
            found = true;
        }
    }
    free(bytes);
    return found;
}

static void write_cache(const char *folder, const char *key, const char *code, size_t size)
{
    struct record_writer writer;

    record_begin(&writer);
    record_add(&writer, "CODE", code, size);
    if (folder && record_finish(&writer) == 0)
        (void)cache_write(folder, key, writer.bytes, writer.length);
    record_done(&writer);
}

/*
 * A path of the descriptor that no earlier load used. The dynamic loader takes a library with a
 * known path for the one that it has already. The bits of a counter become `//.` and `/.` in the
 * path.
 */
static void path_of(int fd, char ret_path[160])
{
    unsigned number = atomic_fetch_add(&device_state.n_loaded, 1);
    size_t n = (size_t)snprintf(ret_path, 160, "/proc/self/fd");

    for (unsigned i = 0; i < 32; i++, number >>= 1)
        n += (size_t)snprintf(ret_path + n, 160 - n, number & 1 ? "//." : "/.");
    (void)snprintf(ret_path + n, 160 - n, "/%d", fd);
}

/* Loads from memory, so that the code loaded is the code that was checked. */
static enum cpu_status load(const char *code, size_t size, struct image *image, char *log, size_t log_size)
{
    int fd = memory_of("baton-device-code", code, size);
    char path[160];

    path_of(fd, path);
    image->library = fd >= 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!image->library) {
        const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): glibc's is per thread */

        (void)snprintf(log, log_size, "the code cannot be loaded: %s", why ? why : "no memory");
    }
    if (fd >= 0)
        (void)close(fd);
    image->code = image->library ? dlsym(image->library, "baton_device_code") : NULL;
    return image->code && image->code->abi == DEVICE_ABI ? CPU_OK : CPU_SYSTEM;
}

enum cpu_status image_compile(const char *text, size_t size, const struct image_options *options,
                              struct image *image, char *log, size_t log_size)
{
    char *folder = options->no_cache ? NULL : cache_folder();
    char key[HASH_TEXT];
    char *code = NULL;
    size_t code_size = 0;
    enum cpu_status status = CPU_OK;

    make_key(text, size, options, key);
    image->was_cached = read_cache(folder, key, &code, &code_size);
    if (!image->was_cached) {
        status = compile(text, size, options, &code, &code_size, log, log_size);
        if (status == CPU_OK)
            write_cache(folder, key, code, code_size);
    }
    if (status == CPU_OK)
        status = load(code, code_size, image, log, log_size);
    free(code);
    free(folder);
    return status;
}
