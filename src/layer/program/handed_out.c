#include "layer/program/handed_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "layer/program/twin.h"
#include "translate/cache.h"
#include "translate/hash.h"
#include "translate/record.h"

enum { MAX_DEVICES = 64 };

static void key_of(const unsigned char *binary, size_t length, char ret_key[HASH_TEXT])
{
    static const char salt[] = "binary handed out by Baton's layer";
    struct hash hash;
    uint8_t digest[HASH_BYTES];

    hash_init(&hash);
    hash_add(&hash, salt, sizeof salt);
    hash_add(&hash, binary, length);
    hash_end(&hash, digest);
    hash_print(digest, ret_key);
}

void handed_out_remember(const struct program_record *program, unsigned char *const binaries[], size_t n)
{
    size_t sizes[MAX_DEVICES] = {0};
    struct record_writer writer;
    char *folder = NULL;

    if (!program->source || program->n_headers || program->linked || program->mode != TRANSLATE_BUILD ||
        target.clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) !=
            CL_SUCCESS)
        return;
    folder = cache_folder();
    record_begin(&writer);
    record_add(&writer, "SRCE", program->source, program->length);
    record_add(&writer, "OPTS", program->options ? program->options : "",
               program->options ? strlen(program->options) : 0);
    if (folder && record_finish(&writer) == 0)
        for (size_t i = 0; i < n && i < MAX_DEVICES; i++) {
            char key[HASH_TEXT];
            if (!binaries[i] || !sizes[i])
                continue;
            key_of(binaries[i], sizes[i], key);
            (void)cache_write(folder, key, writer.bytes,
                              writer.length); /* without it the binary is merely not sliceable */
        }
    record_done(&writer);
    free(folder);
}

static char *text_of(const struct record *record)
{
    char *text = malloc(record->length + 1);

    if (!text)
        return NULL;
    if (record->length)
        memcpy(text, record->bytes, record->length);
    text[record->length] = 0;
    return text;
}

void handed_out_find(struct program_record *program, const unsigned char *binary, size_t length)
{
    char key[HASH_TEXT], *folder = cache_folder();
    uint8_t *bytes = NULL;
    size_t n = 0, position = 0;
    struct record record;

    key_of(binary, length, key);
    if (folder && cache_read(folder, key, &bytes, &n) == 0 && record_check(bytes, n) == 0) {
        while (record_next(bytes, n, &position, &record) == 0) {
            if (!strcmp(record.tag, "SRCE") && !program->source) {
                program->source = text_of(&record);
                program->length = record.length;
            } else if (!strcmp(record.tag, "OPTS") && !program->options) {
                program->options = text_of(&record);
            }
        }
        program->handed_out = program->source && program->options;
        program->mode = TRANSLATE_BUILD;
        if (!program->handed_out) {
            free(program->source);
            program->source = NULL;
        }
    }
    free(bytes);
    free(folder);
}
