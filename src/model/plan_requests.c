#include "model/plan_requests.h"

#include <limits.h>
#include <string.h>

#include "model/print.h"

const char *const plan_request_kinds[REQUEST_KINDS + 1] = {"execution", "copy_in", "copy_out", "peer", NULL};

/* Frees the last place: the two shortest lengths become the shorter one. */
static void merge_shortest(struct plan_request_lengths *kind)
{
    unsigned last = kind->n - 1;

    kind->of[last - 1].count += kind->of[last].count;
    kind->of[last - 1].length = kind->of[last].length;
    kind->n--;
}

/* The first length that is not longer. */
static unsigned place_of(const struct plan_request_lengths *kind, baton_nsec length)
{
    unsigned at = 0;

    while (at < kind->n && kind->of[at].length > length)
        at++;
    return at;
}

void plan_requests_add(struct plan_requests *requests, enum plan_request_kind which, baton_nsec length,
                       unsigned count)
{
    struct plan_request_lengths *kind = &requests->kinds[which];
    unsigned at = place_of(kind, length);

    if (!count)
        return;
    if (at < kind->n && kind->of[at].length == length) {
        kind->of[at].count += count;
        return;
    }
    if (at == PLAN_REQUEST_LENGTHS) { /* shorter than all */
        kind->of[at - 1].length = length;
        kind->of[at - 1].count += count;
        return;
    }
    if (kind->n == PLAN_REQUEST_LENGTHS) {
        merge_shortest(kind);
        at = place_of(kind, length);
    }
    memmove(&kind->of[at + 1], &kind->of[at], (kind->n - at) * sizeof kind->of[0]);
    kind->of[at].length = length;
    kind->of[at].count = count;
    kind->n++;
}

unsigned plan_requests_count(const struct plan_requests *requests, enum plan_request_kind which)
{
    const struct plan_request_lengths *kind = &requests->kinds[which];
    unsigned sum = 0;

    for (unsigned i = 0; i < kind->n; i++)
        sum += kind->of[i].count;
    return sum;
}

/* One entry: kind, number, length. */
static int read_entry(const struct document *document, const struct node *entry,
                      struct plan_requests *requests, struct input_error *ret_error)
{
    unsigned kind = 0;
    int64_t count = 0;
    baton_nsec length = 0;
    int result = node_expect_sequence(document, entry, "a list of kind, number and length", ret_error);

    if (!result && entry->n != 3)
        result = document_reject(document, entry, ret_error, "three values: kind, number, length in ms");
    if (!result)
        result = node_choice(document, entry->first, "execution, copy_in, copy_out or peer",
                             plan_request_kinds, &kind, ret_error);
    if (!result)
        result =
            node_int(document, entry->first->next, "a number of requests", 1, INT_MAX / 2, &count, ret_error);
    if (!result)
        result = node_duration(document, entry->first->next->next, "a time in ms", NSEC_PER_MS, 0, &length,
                               ret_error);
    if (!result)
        plan_requests_add(requests, (enum plan_request_kind)kind, length, (unsigned)count);
    return result;
}

static bool is_word(const struct node *node, const char *word)
{
    return node->kind == NODE_SCALAR && !node->quoted && strcmp(node->text, word) == 0;
}

int plan_requests_read(const struct document *document, const struct node *node,
                       struct plan_requests *ret_requests, struct input_error *ret_error)
{
    struct plan_requests requests = {.said = !is_word(node, "null")};
    int result = 0;

    if (requests.said && !is_word(node, "none"))
        result = node_expect_sequence(document, node, "a list of requests, none or null", ret_error);
    for (const struct node *entry = requests.said && node->kind == NODE_SEQUENCE ? node->first : NULL;
         entry && !result; entry = entry->next)
        result = read_entry(document, entry, &requests, ret_error);
    if (!result)
        *ret_requests = requests;
    return result;
}

void plan_requests_print(const struct plan_requests *requests, FILE *out)
{
    bool any = false;

    for (int k = 0; requests->said && k < REQUEST_KINDS; k++) {
        const struct plan_request_lengths *kind = &requests->kinds[k];

        for (unsigned i = 0; i < kind->n; i++) {
            (void)fprintf(out, "%s[%s, %u, ", any ? ", " : "[", plan_request_kinds[k], kind->of[i].count);
            print_duration(kind->of[i].length, NSEC_PER_MS, out);
            (void)fputc(']', out);
            any = true;
        }
    }
    (void)fputs(any ? "]" : requests->said ? "none" : "null", out);
}
