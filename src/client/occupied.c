#include "client/occupied.h"

#include <string.h>

void occupied_begin(struct occupied *occupied, baton_nsec from_at)
{
    occupied->n = 0;
    occupied->from_at = from_at;
    occupied->folded = 0;
}

static void remove_span(struct occupied *occupied, size_t index)
{
    occupied->n--;
    memmove(&occupied->spans[index], &occupied->spans[index + 1],
            (occupied->n - index) * sizeof occupied->spans[0]);
}

static void fold_first(struct occupied *occupied)
{
    occupied->folded += occupied->spans[0].end_at - occupied->spans[0].begin_at;
    occupied->from_at = occupied->spans[0].end_at;
    remove_span(occupied, 0);
}

void occupied_add(struct occupied *occupied, baton_nsec begin_at, baton_nsec end_at)
{
    size_t at;

    if (occupied->n == OCCUPIED_SPANS)
        fold_first(occupied);
    begin_at = begin_at > occupied->from_at ? begin_at : occupied->from_at;
    if (end_at <= begin_at)
        return;
    at = occupied->n;
    while (at > 0 && occupied->spans[at - 1].begin_at > begin_at)
        at--;
    /* The new span belongs at `at`; spans that touch it are merged with it. */
    if (at > 0 && occupied->spans[at - 1].end_at >= begin_at) {
        at--;
        begin_at = occupied->spans[at].begin_at;
        end_at = end_at > occupied->spans[at].end_at ? end_at : occupied->spans[at].end_at;
        remove_span(occupied, at);
    }
    while (at < occupied->n && occupied->spans[at].begin_at <= end_at) {
        end_at = end_at > occupied->spans[at].end_at ? end_at : occupied->spans[at].end_at;
        remove_span(occupied, at);
    }
    memmove(&occupied->spans[at + 1], &occupied->spans[at], (occupied->n - at) * sizeof occupied->spans[0]);
    occupied->spans[at].begin_at = begin_at;
    occupied->spans[at].end_at = end_at;
    occupied->n++;
}

baton_nsec occupied_until(const struct occupied *occupied, baton_nsec until_at)
{
    baton_nsec sum = occupied->folded;

    for (size_t i = 0; i < occupied->n && occupied->spans[i].begin_at < until_at; i++)
        sum += (occupied->spans[i].end_at < until_at ? occupied->spans[i].end_at : until_at) -
               occupied->spans[i].begin_at;
    return sum;
}
