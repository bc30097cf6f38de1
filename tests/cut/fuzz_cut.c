/*
 * Any bytes as a module to be cut. What the strict reader accepts, the rewriting must keep valid;
 * answers survive the way through a message.
 */
#include "fuzz.h"
#include "ptx/cut/ptx_cut.h"
#include "ptx/ptx_module.h"
#include "translate/cut_record.h"

#include <stdlib.h>
#include <string.h>

static bool is_valid(const char *text, size_t size)
{
    struct ptx_module module;
    struct input_error error = {0};
    bool refused;
    int r = ptx_module_read(&module, "fuzz", text, size, &refused, &error);

    ptx_module_done(&module);
    return r == 0;
}

static void check_entries(const struct ptx_cut *cut)
{
    bool any = false;

    for (size_t i = 0; i < cut->n_entries; i++) {
        const struct ptx_cut_entry *entry = &cut->entries[i];

        any |= entry->reason == PTX_CUT;
        if ((entry->reason == PTX_CUT) != (entry->piece_name[0] != 0) || !entry->name[0])
            abort();
        if (entry->reason != PTX_CUT && !entry->detail[0])
            abort();
        if (entry->reason == PTX_CUT && (entry->piece_offset < entry->bytes || entry->piece_offset % 4))
            abort();
    }
    if (any != (cut->text != NULL) || (cut->reason != PTX_CUT && (cut->n_entries || !cut->detail[0])))
        abort();
}

static void check_message(const struct ptx_cut *cut, const char *text, size_t size)
{
    struct record_writer writer;
    struct ptx_cut again;

    if (cut_encode(cut, size, &writer) || cut_decode(writer.bytes, writer.length, text, size, &again))
        abort();
    if (again.n_entries != cut->n_entries || again.size != cut->size || again.reason != cut->reason ||
        strcmp(again.detail, cut->detail) != 0 ||
        (cut->text && memcmp(cut->text, again.text, cut->size) != 0))
        abort();
    for (size_t i = 0; i < cut->n_entries; i++)
        if (strcmp(cut->entries[i].name, again.entries[i].name) != 0 ||
            cut->entries[i].reason != again.entries[i].reason ||
            cut->entries[i].piece_offset != again.entries[i].piece_offset)
            abort();
    ptx_cut_done(&again);
    record_done(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct ptx_cut cut;
    bool valid;

    size = cut_text_size(text, size);
    if (cut_decode(data, size, text, size, &cut) == 0)
        ptx_cut_done(&cut);
    if (ptx_cut(text, size, &cut))
        return 0; /* no memory */
    check_entries(&cut);
    valid = is_valid(text, size);
    if (valid && cut.reason != PTX_CUT)
        abort(); /* an outline accepts all that the strict reader does */
    if (valid && cut.text && !is_valid(cut.text, cut.size))
        abort();
    check_message(&cut, text, size);
    ptx_cut_done(&cut);
    return 0;
}
