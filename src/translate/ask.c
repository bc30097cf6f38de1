#include "translate/ask.h"
#include "base/patience.h"
#include "translate/cache.h"
#include "translate/child.h"
#include "translate/hash.h"
#include "version.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_RUN (15 * NSEC_PER_SEC)

/* Increased whenever the same question may get a different answer. */
static const char format[] = "1";

/* The path of the program, for the caller to free; NULL if there is no such program. */
static char *find_program(const struct ask_program *program)
{
    static const char *const beside[] = {"", "../bin/", "../libexec/baton/", "../../bin/", "../"};
    const char *named = secure_getenv(program->variable);
    const char *slash;
    Dl_info info;

    if (named && named[0])
        return strdup(named);
    if (!dladdr((const void *)(uintptr_t)ask_question, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        char *path;

        if (asprintf(&path, "%.*s%s%s", slash ? (int)(slash - info.dli_fname) + 1 : 0, info.dli_fname,
                     beside[i], program->name) < 0)
            return NULL;
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* The entry's name: a hash of the question and of the program that would answer it. */
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

static int from_cache(const char *folder, const char *key, ask_decode decode, void *context)
{
    uint8_t *bytes;
    size_t n;
    int r = cache_read(folder, key, &bytes, &n);

    if (r < 0)
        return r;
    r = decode(context, bytes, n, true);
    free(bytes);
    return r < 0 ? r : 0;
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

static int from_program(const char *program, const struct record_writer *question, const char *folder,
                        const char *key, ask_decode decode, void *context, const char **ret_failure)
{
    uint8_t *bytes;
    size_t n;
    int status = 0;
    int r = child_ask(program, question->bytes, question->length, patience_limit(LONGEST_RUN),
                      (size_t)RECORD_LARGEST + 64, &bytes, &n, &status);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        *ret_failure = reason_of(r, status);
        return ASK_FAILED;
    }
    r = decode(context, bytes, n, false);
    if (r >= 0 && folder)
        /* if the disk is full or read-only, only the next build is slower */
        (void)cache_write(folder, key, bytes, n);
    free(bytes);
    if (r < 0 && r != -ENOMEM) {
        *ret_failure = "translator failed";
        return ASK_FAILED;
    }
    return r < 0 ? r : 0;
}

int ask_question(const struct ask_program *program, const struct record_writer *question, ask_decode decode,
                 void *context, const char **ret_failure)
{
    char key[HASH_TEXT];
    char *path = find_program(program);
    char *folder = cache_folder();
    int r;

    key_of(question, path, key);
    r = folder ? from_cache(folder, key, decode, context) : -ENOENT;
    if (r < 0 && r != -ENOMEM) {
        *ret_failure = "translator not found";
        r = path ? from_program(path, question, folder, key, decode, context, ret_failure) : ASK_FAILED;
    }
    free(folder);
    free(path);
    return r;
}
