#include "cuda/linking.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/list.h"
#include "cuda/front.h"
#include "cuda/jit_values.h"
#include "engine/policy.h"
#include "translate/translate_cut.h"

#define INPUT_LIMIT ((size_t)1 << 30)

struct link_record {
    struct list link; /* cuda_front.links.all */
    CUlinkState state;
    const void *image;  /* NULL: not linked yet */
    struct ptx_cut cut; /* the entries of all texts so far */
};

/* Under the lock. */
static struct link_record *find(CUlinkState state)
{
    list_for_each(at, &cuda_front.links.all)
    {
        struct link_record *record = list_entry(at, struct link_record, link);

        if (record->state == state)
            return record;
    }
    return NULL;
}

/* Appends copies of the entries that are cut. False: no memory; what is there stays valid. */
static bool append(struct ptx_cut *to, const struct ptx_cut *from)
{
    struct ptx_cut_entry *grown = realloc(to->entries, (to->n_entries + from->n_entries) * sizeof *grown);

    if (!grown)
        return false;
    to->entries = grown;
    for (size_t i = 0; i < from->n_entries; i++) {
        if (ptx_cut_entry_copy(&from->entries[i], &to->entries[to->n_entries]) < 0)
            return false;
        to->n_entries++;
    }
    return true;
}

/* The driver has taken the rewritten text. Kernels that there is no memory for run whole. */
static void remember(CUlinkState state, const struct ptx_cut *cut)
{
    struct link_record *record;

    pthread_mutex_lock(&cuda_front.links.lock);
    record = find(state);
    if (!record && (record = calloc(1, sizeof *record))) {
        record->state = state;
        list_append(&cuda_front.links.all, &record->link);
    }
    if (record)
        (void)append(&record->cut, cut);
    pthread_mutex_unlock(&cuda_front.links.lock);
}

/* Adds a text by `data`, rewritten if the driver takes it so; else as the call says. */
static CUresult add(struct call *call, struct call *data, const char *text, size_t size)
{
    CUresult code = CUDA_ERROR_UNKNOWN;
    struct jit_values values;
    struct ptx_cut cut;

    if (translate_cut(text, size, &cut, NULL) != 0)
        return call_invoke(call);
    if (cut.text) {
        data->args[2] = (uint64_t)cut.text;
        data->args[3] = cut.size + 1;
        jit_values_keep(call, &values);
        code = call_invoke(data);
        if (code != CUDA_SUCCESS)
            jit_values_restore(&values);
    }
    if (code == CUDA_SUCCESS)
        remember((CUlinkState)call->args[0], &cut);
    else
        code = call_invoke(call);
    ptx_cut_done(&cut);
    return code;
}

/* (state, type, data, size, name, n, options, values) */
CUresult route_link_add_data(struct call *call)
{
    struct call data = *call;
    const char *text = (const char *)call->args[2];
    size_t size = (size_t)call->args[3];

    if ((uint32_t)call->args[1] != CU_JIT_INPUT_PTX || !text || !policy_slicing())
        return call_invoke(call);
    return add(call, &data, text, strnlen(text, size));
}

/* (state, type, path, n, options, values) */
CUresult route_link_add_file(struct call *call)
{
    struct call data = {.entry = entry_at(ENTRY_cuLinkAddData_v2),
                        .genuine = front_genuine(ENTRY_cuLinkAddData_v2)};
    char *text = NULL;
    size_t size = 0;
    CUresult code;

    if ((uint32_t)call->args[1] != CU_JIT_INPUT_PTX || !call->args[2] || !data.genuine || !policy_slicing() ||
        file_read((const char *)call->args[2], INPUT_LIMIT, &text, &size) != 0)
        return call_invoke(call);
    data.args[0] = call->args[0];
    data.args[1] = call->args[1];
    data.args[4] = call->args[2]; /* the name in messages is the path */
    memcpy(&data.args[5], &call->args[3], 3 * sizeof call->args[3]);
    code = add(call, &data, text, strnlen(text, size));
    free(text);
    return code;
}

CUresult route_link_complete(struct call *call)
{
    CUresult code = call_invoke(call);
    struct link_record *record;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&cuda_front.links.lock);
    record = find((CUlinkState)call->args[0]);
    if (record)
        record->image = *(void **)call->args[1];
    pthread_mutex_unlock(&cuda_front.links.lock);
    return code;
}

/* The image ends with its state. */
CUresult route_link_destroy(struct call *call)
{
    struct link_record *record;

    pthread_mutex_lock(&cuda_front.links.lock);
    record = find((CUlinkState)call->args[0]);
    if (record)
        list_remove(&record->link);
    pthread_mutex_unlock(&cuda_front.links.lock);
    if (record) {
        ptx_cut_done(&record->cut);
        free(record);
    }
    return call_invoke(call);
}

bool linking_find(const void *image, struct ptx_cut *ret_cut)
{
    struct ptx_cut cut = {.text = strdup(""), .detail = strdup("")};
    bool found = false;

    pthread_mutex_lock(&cuda_front.links.lock);
    list_for_each(at, &cuda_front.links.all)
    {
        const struct link_record *record = list_entry(at, struct link_record, link);

        if (record->image == image && image && cut.text && cut.detail)
            found = append(&cut, &record->cut);
    }
    pthread_mutex_unlock(&cuda_front.links.lock);
    if (found)
        *ret_cut = cut;
    else
        ptx_cut_done(&cut);
    return found;
}
