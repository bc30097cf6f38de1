#include "translate/translate.h"
#include "translate/cache.h"
#include "translate/child.h"
#include "translate/hash.h"
#include "translate/metadata.h"
#include "translate/record.h"
#include "base/file.h"
#include "version.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const baton_nsec longest_run = 15 * (baton_nsec)1000000000;

/* Raised whenever the same question may get another answer. */
static const char format[] = "1";

/* The program that translates, the caller's to free; NULL when it is not there. */
static char *find_program(void)
{
    static const char *const beside[] = {"baton-translate", "../bin/baton-translate",
                                         "../libexec/baton/baton-translate", "../../bin/baton-translate",
                                         "../baton-translate"};
    const char *named = secure_getenv("BATON_TRANSLATE");
    const char *slash;
    Dl_info info;

    if (named && named[0])
        return strdup(named);
    if (!dladdr((const void *)(uintptr_t)translate_program, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        char *path;

        if (asprintf(&path, "%.*s%s", slash ? (int)(slash - info.dli_fname) + 1 : 0, info.dli_fname,
                     beside[i]) < 0)
            return NULL;
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static void add_string(struct record_writer *writer, const char *tag, const char *text)
{
    record_add(writer, tag, text ? text : "", text ? strlen(text) : 0);
}

static int encode(const struct translate_request *request, struct record_writer *writer)
{
    const struct translate_device *device = &request->device;
    const uint8_t mode[4] = {request->mode == TRANSLATE_COMPILE, (uint8_t)device->address_bits,
                             device->images, device->little_endian};

    record_begin(writer);
    record_add(writer, "mode", mode, sizeof mode);
    add_string(writer, "opts", request->options);
    add_string(writer, "vers", device->version);
    add_string(writer, "cver", device->c_version);
    add_string(writer, "exts", device->extensions);
    add_string(writer, "feat", device->features);
    add_string(writer, "defs", device->defines);
    add_string(writer, "drvr", device->driver);
    for (size_t i = 0; i < request->n_headers; i++) {
        add_string(writer, "hdrn", request->headers[i].name);
        record_add(writer, "hdrt", request->headers[i].text, request->headers[i].length);
    }
    if (request->n_headers ||
        (request->options && strstr(request->options, "-I"))) { /* what is found depends on it */
        char *folder = getcwd(NULL, 0);

        add_string(writer, "cwd ", folder);
        free(folder);
    }
    for (size_t i = 0; i < request->n_sources; i++)
        record_add(writer, "srce", request->sources[i], request->lengths[i]);
    return record_finish(writer);
}

/* The entry's name: the question, and the program that would answer it. */
static void key_of(const struct record_writer *question, const char *program, char ret_key[HASH_TEXT])
{
    uint8_t digest[HASH_BYTES];
    struct hash hash;
    struct stat st;

    hash_init(&hash);
    hash_add(&hash, format, sizeof format);
    hash_add(&hash, BATON_VERSION, sizeof BATON_VERSION);
    if (program && stat(program, &st) == 0) {
        hash_add(&hash, &st.st_size, sizeof st.st_size);
        hash_add(&hash, &st.st_mtim, sizeof st.st_mtim);
    }
    hash_add(&hash, question->bytes + question->length - HASH_BYTES, HASH_BYTES);
    hash_end(&hash, digest);
    hash_print(digest, ret_key);
}

/* The files that the answer was made from are as they were; those that were missing still are. */
static bool same_files(const char *deps, size_t n)
{
    const char *end = deps + n;

    while (deps < end) {
        const char *line_end = memchr(deps, '\n', (size_t)(end - deps));
        const char *space = line_end ? memchr(deps, ' ', (size_t)(line_end - deps)) : NULL;
        char digest[HASH_TEXT] = "-";
        size_t length;
        char *path;
        char *text;
        bool same;
        int r;

        if (!space)
            return false;
        path = strndup(space + 1, (size_t)(line_end - space - 1));
        r = path ? file_read(path, 64 << 20, &text, &length) : -ENOMEM;
        free(path);
        if (!r) {
            hash_text(text, length, digest);
            free(text);
        }
        same = strlen(digest) == (size_t)(space - deps) && !memcmp(deps, digest, (size_t)(space - deps)) &&
               (!r || r == -ENOENT || r == -ENOTDIR);
        if (!same)
            return false;
        deps = line_end + 1;
    }
    return true;
}

static int from_cache(const char *folder, const char *key, struct translate_result *ret_result)
{
    struct translate_result result;
    const char *deps;
    uint8_t *bytes;
    size_t n_deps;
    size_t n;
    int r = cache_read(folder, key, &bytes, &n);

    if (r < 0)
        return r;
    r = metadata_decode(bytes, n, &result, &deps, &n_deps);
    if (r >= 0 && !same_files(deps, n_deps)) {
        translate_result_done(&result);
        r = -ESTALE;
    }
    free(bytes);
    if (r >= 0) {
        result.from_cache = true;
        *ret_result = result;
    }
    return r;
}

/* A refusal for reasons of the environment: not kept in the cache. */
static int not_translated(struct translate_result *ret_result, const char *reason)
{
    struct translate_result result = {.reason = strdup(reason), .options = strdup(""), .files = strdup("")};

    if (!result.reason || !result.options || !result.files) {
        translate_result_done(&result);
        return -ENOMEM;
    }
    *ret_result = result;
    return TRANSLATE_WHOLE;
}

static const char *reason_of(int r, int status)
{
    if (r == -ETIMEDOUT || (r == -ECHILD && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        return "translator took too long";
    if (r == -ECHILD && WIFEXITED(status) && WEXITSTATUS(status) == 4)
        return "translator ran out of memory";
    if (r == -ECHILD)
        return "translator failed";
    if (r == -EFBIG)
        return "translator's answer is too large";
    return r == -ENOENT || r == -EACCES ? "translator cannot be started" : "translator cannot be asked";
}

static int ask(const char *program, const struct record_writer *question, const char *folder, const char *key,
               struct translate_result *ret_result)
{
    const char *deps;
    uint8_t *bytes;
    size_t n_deps;
    size_t n;
    int status = 0;
    int r = child_ask(program, question->bytes, question->length, longest_run, (size_t)RECORD_LARGEST + 64,
                      &bytes, &n, &status);

    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return not_translated(ret_result, reason_of(r, status));
    r = metadata_decode(bytes, n, ret_result, &deps, &n_deps);
    if (r == -EBADMSG)
        r = not_translated(ret_result, "translator failed");
    else if (r >= 0 && folder)
        (void)cache_write(folder, key, bytes, n); /* a full or read-only disk only costs the next build */
    free(bytes);
    return r;
}

int translate_program(const struct translate_request *request, struct translate_result *ret_result)
{
    struct record_writer question;
    char key[HASH_TEXT];
    char *program = find_program();
    char *folder = cache_folder();
    int r = encode(request, &question);

    if (r == -EFBIG) {
        r = not_translated(ret_result, "source is too large");
    } else if (!r) {
        key_of(&question, program, key);
        r = folder ? from_cache(folder, key, ret_result) : -ENOENT;
        if (r < 0 && r != -ENOMEM)
            r = program ? ask(program, &question, folder, key, ret_result)
                        : not_translated(ret_result, "translator not found");
    }
    record_done(&question);
    free(folder);
    free(program);
    return r;
}
