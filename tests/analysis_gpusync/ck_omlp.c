/* CK-OMLP blocking against an independent implementation (reference/README) and by hand. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/gpusync/blocking/blocking_ck_omlp.h"
#include "harness.h"

#define MOST 64

struct tasks {
    uint32_t by_length[MOST], cluster[MOST], of_cluster[MOST];
    double period[MOST], r[MOST], length[MOST], requests[MOST], point[MOST], span[MOST], taken[MOST];
    size_t n, users;
};

static double number(const json_t *object, const char *field)
{
    return json_number_value(json_object_get(object, field));
}

static void read_tasks(const json_t *list, struct tasks *t)
{
    t->n = json_array_size(list);
    t->users = 0;
    ck_assert_uint_le(t->n, MOST);
    for (size_t i = 0; i < t->n; i++) {
        const json_t *task = json_array_get(list, i);
        size_t at = t->users;

        t->cluster[i] = (uint32_t)number(task, "cluster");
        t->period[i] = number(task, "T");
        t->r[i] = number(task, "R");
        t->length[i] = number(task, "L");
        t->requests[i] = number(task, "N");
        t->point[i] = number(task, "prio_pt");
        t->taken[i] = t->span[i] = 0;
        if (t->requests[i] <= 0)
            continue;
        for (; at > 0 && t->length[t->by_length[at - 1]] < t->length[i]; at--)
            t->by_length[at] = t->by_length[at - 1];
        t->by_length[at] = (uint32_t)i;
        t->users++;
    }
}

START_TEST(all_reference_cases_agree)
{
    json_t *cases = json_load_file(harness_data("analysis_gpusync/reference/ck_omlp.json"), 0, NULL);
    size_t index;
    json_t *one;

    ck_assert_uint_eq(json_array_size(cases), 14);
    json_array_foreach(cases, index, one)
    {
        struct tasks t;
        struct ck_omlp lock = {.by_length = t.by_length,
                               .cpus = number(one, "procs_per_cluster"),
                               .ahead = ceil(number(one, "M") / number(one, "k")) - 1,
                               .cluster = t.cluster,
                               .horizon = t.r, /* the reference counts from responses alone */
                               .period = t.period,
                               .r = t.r,
                               .length = t.length,
                               .requests = t.requests,
                               .taken = t.taken};

        read_tasks(json_object_get(one, "tasks"), &t);
        lock.n = t.users;
        for (size_t k = 0; k < t.users; k++) {
            uint32_t i = t.by_length[k];

            t.span[i] = ck_omlp_direct(&lock, i, 1, NULL) + t.length[i];
        }
        for (size_t i = 0; i < t.n; i++) {
            size_t same = 0;
            double direct = t.requests[i] > 0 ? ck_omlp_direct(&lock, i, t.requests[i], NULL) : 0;
            double donation;

            for (uint32_t j = 0; j < t.n; j++)
                if (t.cluster[j] == t.cluster[i])
                    t.of_cluster[same++] = j;
            donation = ck_omlp_donation(t.of_cluster, same, i, t.point, t.span);
            ck_assert_double_eq(json_number_value(json_array_get(json_object_get(one, "span"), i)),
                                t.span[i]);
            ck_assert_double_eq(json_number_value(json_array_get(json_object_get(one, "direct"), i)), direct);
            ck_assert_double_eq(json_number_value(json_array_get(json_object_get(one, "arrival"), i)),
                                donation);
            ck_assert_double_eq(json_number_value(json_array_get(json_object_get(one, "total"), i)),
                                direct + donation);
        }
    }
    json_decref(cases);
}
END_TEST

/*
 * Two clusters of one CPU, k = 1: M = 2, one other request ahead. Task 0 (cluster 0, length 5) can
 * wait for task 1 or 2 (cluster 1, lengths 7 and 4), not for task 3 (cluster 0, length 9): c - 1 =
 * 0 from its own cluster. Direct 7, span 12. Task 3: direct 7, span 16. Task 0 (point 10) donates
 * to task 3 (point 20): 16. Task 3 finds no task with a later point: 0.
 */
START_TEST(two_single_cpus_by_hand)
{
    const uint32_t by_length[] = {3, 1, 0, 2};
    const uint32_t cluster[] = {0, 1, 1, 0};
    const double period[] = {100, 100, 100, 100};
    const double length[] = {5, 7, 4, 9};
    const double point[] = {10, 15, 15, 20};
    double taken[2] = {0};
    double span[4];
    const uint32_t first[] = {0, 3};
    const struct ck_omlp lock = {.by_length = by_length,
                                 .n = 4,
                                 .cpus = 1,
                                 .ahead = 1,
                                 .cluster = cluster,
                                 .horizon = period,
                                 .period = period,
                                 .r = period,
                                 .length = length,
                                 .taken = taken};

    ck_assert_double_eq(ck_omlp_direct(&lock, 0, 1, NULL), 7);
    ck_assert_double_eq(ck_omlp_direct(&lock, 3, 1, NULL), 7);
    ck_assert_double_eq(ck_omlp_direct(&lock, 1, 1, NULL), 9);
    for (size_t i = 0; i < 4; i++)
        span[i] = ck_omlp_direct(&lock, i, 1, NULL) + length[i];
    ck_assert_double_eq(ck_omlp_donation(first, 2, 0, point, span), 16);
    ck_assert_double_eq(ck_omlp_donation(first, 2, 3, point, span), 0);
}
END_TEST

HARNESS_MAIN("ck-omlp", 20, all_reference_cases_agree, two_single_cpus_by_hand)
