#include "cli/plan_experiment.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/draft.h"
#include "report/svg.h"
#include "study/gema_experiment.h"

#define MAX_POINTS 32

static const char *const curve_names[GEMA_CURVES] = {"printed", "sound", "sound, placed"};

/* Fig. 7: U_G from 0.2 to 4 without dependent kernels. Fig. 8: P_D from 0 to 1 at U_G = 1.2. */
static size_t list_points(bool fig8, struct gema_point points[])
{
    size_t n = fig8 ? 11 : 20;

    for (size_t i = 0; i < n; i++)
        points[i] = (struct gema_point){.utilisation = fig8 ? 1.2 : 0.2 * (double)(i + 1),
                                        .dependent = fig8 ? 0.1 * (double)i : 0};
    return n;
}

static double fraction(const struct gema_point *point, int curve, int policy)
{
    return point->sets ? (double)point->schedulable[curve][policy] / (double)point->sets : NAN;
}

static json_t *to_json(const char *name, const struct gema_point points[], size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *point = json_pack("{s:f, s:f, s:I}", "u_g", points[i].utilisation, "p_d", points[i].dependent,
                                  "sets", (json_int_t)points[i].sets);

        for (int curve = 0; curve < GEMA_CURVES; curve++) {
            json_t *policies = json_object();

            for (int policy = 0; policy < GEMA_POLICIES; policy++)
                json_object_set_new(policies, plan_policy_names[policy],
                                    json_real(fraction(&points[i], curve, policy)));
            json_object_set_new(point, curve_names[curve], policies);
        }
        json_array_append_new(list, point);
    }
    return json_pack("{s:s, s:o}", "experiment", name, "points", list);
}

static void print_table(bool fig8, const struct gema_point points[], size_t n)
{
    printf("%6s", fig8 ? "P_D" : "U_G");
    for (int curve = 0; curve < GEMA_CURVES; curve++)
        printf("  %-28s", curve_names[curve]);
    printf("\n%6s", "");
    for (int curve = 0; curve < GEMA_CURVES; curve++) {
        for (int policy = 0; policy < GEMA_POLICIES; policy++)
            printf(" %6s", plan_policy_names[policy]);
        printf("  ");
    }
    putchar('\n');
    for (size_t i = 0; i < n; i++) {
        printf("%6.2f", fig8 ? points[i].dependent : points[i].utilisation);
        for (int curve = 0; curve < GEMA_CURVES; curve++) {
            for (int policy = 0; policy < GEMA_POLICIES; policy++)
                printf(" %6.3f", fraction(&points[i], curve, policy));
            printf("  ");
        }
        putchar('\n');
    }
}

static int write_svg(const char *path, bool fig8, const struct gema_point points[], size_t n)
{
    static double x[MAX_POINTS];
    static double y[GEMA_CURVES * GEMA_POLICIES][MAX_POINTS];
    static char names[GEMA_CURVES * GEMA_POLICIES][48];
    struct svg_series series[GEMA_CURVES * GEMA_POLICIES];
    struct svg_chart chart = {
        .title = fig8 ? "Schedulable sets over the share of tasks with dependent kernels, U_G = 1.2"
                      : "Schedulable sets over GPU utilisation",
        .x_label = fig8 ? "P_D" : "U_G",
        .y_label = "fraction schedulable",
        .has_y_range = true,
        .y_high = 1,
        .series = series,
        .n_series = (size_t)GEMA_CURVES * GEMA_POLICIES,
    };
    struct draft draft;
    int result = draft_begin(&draft);

    if (result)
        return result;
    for (size_t s = 0; s < chart.n_series; s++) {
        int curve = (int)(s / GEMA_POLICIES);
        int policy = (int)(s % GEMA_POLICIES);

        (void)snprintf(names[s], sizeof names[s], "%s, %s", plan_policy_names[policy], curve_names[curve]);
        for (size_t i = 0; i < n; i++) {
            x[i] = fig8 ? points[i].dependent : points[i].utilisation;
            y[s][i] = fraction(&points[i], curve, policy);
        }
        series[s] = (struct svg_series){
            .name = names[s], .x = x, .y = y[s], .n = n, .dashed = curve == CURVE_PRINTED};
    }
    svg_chart(&chart, draft.out);
    return draft_finish(&draft, path, 0);
}

int plan_experiment(const struct cli_args *args)
{
    struct gema_point points[MAX_POINTS];
    const char *svg = cli_value(args, "svg", NULL);
    const char *name = cli_value(args, "experiment", "fig7");
    long long sets = 1000;
    long long seed = 1;
    size_t which = 0;
    size_t n;
    int status = cli_choice(args, "experiment", &which);

    if (!status)
        status = cli_int(args, "sets", 1, 10000000, &sets);
    if (!status)
        status = cli_int(args, "seed", 0, INT64_MAX, &seed);
    if (status)
        return status;
    n = list_points(which == 1, points);
    for (size_t i = 0; i < n && !status; i++)
        status = gema_experiment(points[i].utilisation, points[i].dependent, (size_t)sets, (uint64_t)seed, i,
                                 &points[i]);
    if (status)
        return cli_fail_environment(args, status, "experiment");
    if (svg && (status = write_svg(svg, which == 1, points, n)))
        return cli_fail_environment(args, status, "%s", svg);
    if (cli_has(args, "json")) {
        json_t *object = to_json(name, points, n);

        if (!object)
            return cli_fail_environment(args, -ENOMEM, "answer");
        json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
        putchar('\n');
        json_decref(object);
    } else {
        print_table(which == 1, points, n);
    }
    return CLI_YES;
}
