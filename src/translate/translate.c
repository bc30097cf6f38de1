#include "translate/translate.h"
#include "translate/ask.h"
#include "translate/hash.h"
#include "translate/metadata.h"
#include "translate/record.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    /* The working folder decides which file is found. */
    if (request->n_headers || (request->options && strstr(request->options, "-I"))) {
        char *folder = getcwd(NULL, 0);

        add_string(writer, "cwd ", folder);
        free(folder);
    }
    for (size_t i = 0; i < request->n_sources; i++)
        record_add(writer, "srce", request->sources[i], request->lengths[i]);
    return record_finish(writer);
}

/* The files from which the answer was made have not changed; those that were missing still are. */
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

struct answer {
    struct translate_result *result;
    int r; /* of metadata_decode() */
};

/* An answer from the cache counts only while the files from which it was made are the same. */
static int take_answer(void *context, const uint8_t *bytes, size_t n, bool from_cache)
{
    struct answer *answer = context;
    struct translate_result result;
    const char *deps;
    size_t n_deps;
    int r = metadata_decode(bytes, n, &result, &deps, &n_deps);

    if (r < 0)
        return r;
    if (from_cache && !same_files(deps, n_deps)) {
        translate_result_done(&result);
        return -ESTALE;
    }
    result.from_cache = from_cache;
    *answer->result = result;
    answer->r = r;
    return 0;
}

/* A refusal because of the environment: not kept in the cache. */
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

int translate_program(const struct translate_request *request, struct translate_result *ret_result)
{
    static const struct ask_program program = {"baton-translate", "BATON_TRANSLATE"};
    struct answer answer = {.result = ret_result};
    struct record_writer question;
    const char *failure;
    int r = encode(request, &question);

    if (r == -EFBIG)
        r = not_translated(ret_result, "source is too large");
    else if (!r) {
        r = ask_question(&program, &question, take_answer, &answer, &failure);
        r = r == ASK_FAILED ? not_translated(ret_result, failure) : r ? r : answer.r;
    }
    record_done(&question);
    return r;
}
