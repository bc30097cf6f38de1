#include "translate/cut_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 5 };

size_t cut_text_size(const char *text, size_t size)
{
    while (size > 0 && text[size - 1] == 0)
        size--;
    return size;
}

static void put_number(uint8_t ret_bytes[4], uint32_t number)
{
    for (int i = 0; i < 4; i++)
        ret_bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint32_t number_at(const uint8_t bytes[4])
{
    uint32_t number = 0;

    for (int i = 0; i < 4; i++)
        number |= (uint32_t)bytes[i] << 8 * i;
    return number;
}

static void put_numbers(struct record_writer *writer, const char *tag, const uint32_t numbers[], size_t n)
{
    uint8_t bytes[4 * NUMBERS];

    for (size_t i = 0; i < n; i++)
        put_number(bytes + 4 * i, numbers[i]);
    record_add(writer, tag, bytes, 4 * n);
}

/* Offset and size of each, 8 bytes. */
static int put_parameters(struct record_writer *writer, const struct ptx_cut_entry *entry)
{
    uint8_t *bytes = malloc(8 * (size_t)entry->n_parameters + 1);

    if (!bytes)
        return -ENOMEM;
    for (size_t i = 0; i < entry->n_parameters; i++) {
        put_number(bytes + 8 * i, entry->parameters[i].offset);
        put_number(bytes + 8 * i + 4, entry->parameters[i].size);
    }
    record_add(writer, "para", bytes, 8 * (size_t)entry->n_parameters);
    free(bytes);
    return 0;
}

static void put_string(struct record_writer *writer, const char *tag, const char *text)
{
    record_add(writer, tag, text, strlen(text));
}

int cut_encode(const struct ptx_cut *cut, size_t size, struct record_writer *ret_writer)
{
    const uint32_t all[] = {(uint32_t)cut->reason, cut->line};
    int r = 0;

    record_begin(ret_writer);
    put_numbers(ret_writer, "cut ", all, 2);
    put_string(ret_writer, "why ", cut->detail);
    for (size_t i = 0; i < cut->n_entries && !r; i++) {
        const struct ptx_cut_entry *entry = &cut->entries[i];
        const uint32_t numbers[NUMBERS] = {(uint32_t)entry->reason, entry->line, entry->n_parameters,
                                           entry->bytes, entry->piece_offset};

        put_numbers(ret_writer, "entr", numbers, NUMBERS);
        put_string(ret_writer, "name", entry->name);
        put_string(ret_writer, "piec", entry->piece_name);
        put_string(ret_writer, "deta", entry->detail);
        r = put_parameters(ret_writer, entry);
    }
    if (cut->text)
        record_add(ret_writer, "tail", cut->text + size, cut->size - size);
    return r ? r : record_finish(ret_writer);
}

struct decoder {
    const char *text;
    size_t size;
    struct ptx_cut cut;
    size_t room;
};

static bool is(const struct record *record, const char *tag)
{
    return !strcmp(record->tag, tag);
}

static int get_numbers(const struct record *record, uint32_t ret_numbers[], size_t n)
{
    if (record->length != 4 * n)
        return -EBADMSG;
    for (size_t i = 0; i < n; i++)
        ret_numbers[i] = number_at(record->bytes + 4 * i);
    return ret_numbers[0] < PTX_N_WHOLE ? 0 : -EBADMSG;
}

/* Stores a string that has not been set yet. */
static int get_string(const struct record *record, char **ret_text)
{
    char *text;

    if (*ret_text || memchr(record->bytes, 0, record->length))
        return -EBADMSG;
    text = strndup((const char *)record->bytes, record->length);
    if (!text)
        return -ENOMEM;
    *ret_text = text;
    return 0;
}

static int get_tail(struct decoder *decoder, const struct record *record)
{
    struct ptx_cut *cut = &decoder->cut;

    if (cut->text)
        return -EBADMSG;
    cut->size = decoder->size + record->length;
    cut->text = malloc(cut->size + 1);
    if (!cut->text)
        return -ENOMEM;
    memcpy(cut->text, decoder->text, decoder->size);
    memcpy(cut->text + decoder->size, record->bytes, record->length);
    cut->text[cut->size] = 0;
    return 0;
}

static int get_entry(struct decoder *decoder, const struct record *record)
{
    struct ptx_cut *cut = &decoder->cut;
    struct ptx_cut_entry *entry;
    uint32_t numbers[NUMBERS];

    if (get_numbers(record, numbers, NUMBERS))
        return -EBADMSG;
    if (cut->n_entries == decoder->room) {
        size_t room = 2 * decoder->room + 16;
        struct ptx_cut_entry *more = realloc(cut->entries, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        cut->entries = more;
        decoder->room = room;
    }
    entry = &cut->entries[cut->n_entries++];
    *entry = (struct ptx_cut_entry){.reason = (enum ptx_whole)numbers[0],
                                    .line = numbers[1],
                                    .n_parameters = numbers[2],
                                    .bytes = numbers[3],
                                    .piece_offset = numbers[4]};
    return 0;
}

static int get_parameters(const struct record *record, struct ptx_cut_entry *entry)
{
    size_t n = entry->n_parameters;

    if (entry->parameters || record->length != 8 * n)
        return -EBADMSG;
    entry->parameters = malloc((n + 1) * sizeof *entry->parameters);
    if (!entry->parameters)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        entry->parameters[i] = (struct ptx_cut_parameter){number_at(record->bytes + 8 * i),
                                                          number_at(record->bytes + 8 * i + 4)};
    return 0;
}

static int get_record(struct decoder *decoder, const struct record *record)
{
    struct ptx_cut *cut = &decoder->cut;
    struct ptx_cut_entry *entry = cut->n_entries ? &cut->entries[cut->n_entries - 1] : NULL;

    if (is(record, "cut ")) {
        uint32_t numbers[2];

        if (get_numbers(record, numbers, 2))
            return -EBADMSG;
        cut->reason = (enum ptx_whole)numbers[0];
        cut->line = numbers[1];
        return 0;
    }
    if (is(record, "why "))
        return get_string(record, &cut->detail);
    if (is(record, "entr"))
        return get_entry(decoder, record);
    if (is(record, "tail"))
        return get_tail(decoder, record);
    if (entry && is(record, "name"))
        return get_string(record, &entry->name);
    if (entry && is(record, "piec"))
        return get_string(record, &entry->piece_name);
    if (entry && is(record, "deta"))
        return get_string(record, &entry->detail);
    if (entry && is(record, "para"))
        return get_parameters(record, entry);
    return -EBADMSG;
}

/* Every string is set, and siblings exist if and only if there is a text with them. */
static int check(const struct ptx_cut *cut)
{
    bool any = false;

    for (size_t i = 0; i < cut->n_entries; i++) {
        const struct ptx_cut_entry *entry = &cut->entries[i];

        if (!entry->name || !entry->piece_name || !entry->detail || !entry->parameters ||
            (entry->reason == PTX_CUT) != (entry->piece_name[0] != 0))
            return -EBADMSG;
        any |= entry->reason == PTX_CUT;
    }
    return cut->detail && any == (cut->text != NULL) ? 0 : -EBADMSG;
}

int cut_decode(const uint8_t *bytes, size_t n, const char *text, size_t size, struct ptx_cut *ret_cut)
{
    struct decoder decoder = {.text = text, .size = size};
    struct record record;
    size_t position = 0;
    int r = record_check(bytes, n);

    while (!r && !(r = record_next(bytes, n, &position, &record)))
        r = get_record(&decoder, &record);
    if (r == 1)
        r = check(&decoder.cut);
    if (r)
        ptx_cut_done(&decoder.cut);
    else
        *ret_cut = decoder.cut;
    return r;
}
