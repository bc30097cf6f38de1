/*
 * Studies: what is drawn, when a point ends, how ranks are made, that results depend on the seed
 * alone.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "study/generator.h"
#include "study/study_rank.h"
#include "study/run/run_study.h"
#include "study/run/study_worker.h"
#include "study/stopping.h"

static atomic_bool never;

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
}

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[2][128];
    static int turn;

    if (!folder[0])
        harness_folder(folder);
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

#define OVERHEADS "sets: [{name: A, all: {scheduler: 1, copies: [{direction: in, bytes: 1 MiB, us: 170}]}}]\n"

/* A study with this text in a folder of its own, beside a small overhead file. */
static int read_study(const char *text, struct study_spec *ret_spec, struct input_error *ret_error)
{
    write_text(in_folder("o.yaml"), OVERHEADS);
    write_text(in_folder("study.yaml"), text);
    return study_spec_read(in_folder("study.yaml"), ret_spec, ret_error);
}

static struct study_spec spec;
static struct input_error error;

START_TEST(paper_yaml_is_the_papers_study)
{
    char path[512];
    struct study_combination combination;

    (void)snprintf(path, sizeof path, "%s", harness_data("../examples/studies/paper.yaml"));
    ck_assert_int_eq(study_spec_read(path, &spec, &error), 0);
    /*
     * Sec. V: 3 x 2 x 3 x 3 x 3 x 3 = 486 combinations, 4 overhead sets, 39 configurations: 75,816
     * experiments; (0, 12] by 0.25.
     */
    ck_assert_uint_eq(spec.n_units, 486 * 4);
    ck_assert_uint_eq(spec.n_units * spec.n_configurations, 75816);
    ck_assert_uint_eq(spec.n_points, 48);
    ck_assert_uint_eq(spec.stopping.least, 500);
    ck_assert_uint_eq(spec.stopping.most, 4000);
    for (size_t unit = 0; unit < spec.n_units; unit++)
        for (size_t other = unit + 1; other < unit + 3 && other < spec.n_units; other++) {
            struct study_combination b;

            study_combination(&spec, unit, &combination);
            study_combination(&spec, other, &b);
            ck_assert(combination.overheads != b.overheads ||
                      memcmp(combination.choice, b.choice, sizeof b.choice) != 0);
        }
    study_spec_done(&spec);
}
END_TEST

/* Draws sets and checks what must hold for each; returns sums for the mean tests. */
struct sums {
    double tasks, utilisation, period, part, share_low, share_high;
    size_t sets, gpu_tasks, untrimmed;
};

static void draw_many(const struct study_combination *combination, double target, size_t sets,
                      struct sums *sums)
{
    static struct gpusync_job jobs[STUDY_MAX_TASKS];
    const struct study_distribution *const *values = combination->values;
    struct random_state random;

    *sums = (struct sums){.sets = sets};
    random_init(&random, 7, generator_stream(combination, target));
    for (size_t s = 0; s < sets; s++) {
        size_t n = generator_draw(combination, target, &random, jobs);
        double total = 0;
        size_t with_gpu = 0;

        ck_assert_uint_gt(n, 0);
        for (size_t i = 0; i < n; i++) {
            double u = (jobs[i].cpu + jobs[i].kernel) / jobs[i].period;

            total += u;
            ck_assert(jobs[i].period == round(jobs[i].period) && jobs[i].deadline == jobs[i].period);
            ck_assert(jobs[i].period >= values[PARAMETER_PERIOD]->low &&
                      jobs[i].period <= values[PARAMETER_PERIOD]->high);
            ck_assert(u <= values[PARAMETER_UTILISATION]->high + 1 / jobs[i].period);
            sums->period += jobs[i].period;
            if (i + 1 < n) { /* the last is trimmed */
                ck_assert(u >= values[PARAMETER_UTILISATION]->low - 1 / jobs[i].period);
                sums->utilisation += u;
                sums->untrimmed++;
            }
            if (!jobs[i].kernels)
                continue;
            with_gpu++;
            sums->part += jobs[i].kernel / (jobs[i].cpu + jobs[i].kernel);
            ck_assert(fabs(jobs[i].critical - 0.05 * jobs[i].cpu) <= 0.5);
            ck_assert_int_eq(jobs[i].bytes_in + jobs[i].bytes_out, 2 << 20);
            ck_assert_int_eq(jobs[i].state, 1 << 19); /* a quarter of 2 MiB */
        }
        ck_assert_uint_eq(with_gpu, (size_t)lround(values[PARAMETER_SHARE]->low * (double)n));
        /*
         * Rounding e = u p to whole microseconds moves each task by at most 0.5 / 33,000, or up to
         * 1 us for an empty one.
         */
        ck_assert_double_le(fabs(total - target), (double)n / 33000);
        sums->tasks += (double)n;
        sums->gpu_tasks += with_gpu;
    }
}

START_TEST(generated_sets_follow_their_distributions)
{
    struct study_combination combination;
    struct sums sums;
    double n;

    ck_assert_int_eq(
        read_study(
            "study: gpusync\noverheads: {file: o.yaml}\nparameters: {utilisation: medium, period: moderate, "
            "kernel: medium, data: medium, state: 0.25, gpu_share: 0.666667}\n",
            &spec, &error),
        0);
    study_combination(&spec, 0, &combination);
    draw_many(&combination, 6, 2000, &sums);
    n = sums.tasks;
    /*
     * Means of uniforms within 5 standard errors: (high - low) / sqrt(12 n). Utilisations of a set
     * are a stopped walk, whose mean has a small bias. A set of 6 takes 24 draws of mean 0.25.
     * Wald's identity holds for all draws, the trimmed one included as drawn. So the mean of the
     * untrimmed ones lies within 0.25 +- 0.01.
     */
    ck_assert_double_eq_tol(sums.period / n, 66.5e3, 5 * 67e3 / sqrt(12 * n));
    ck_assert_double_eq_tol(sums.part / (double)sums.gpu_tasks, 0.5,
                            5 * 0.5 / sqrt(12.0 * (double)sums.gpu_tasks));
    ck_assert_double_eq_tol(sums.utilisation / (double)sums.untrimmed, 0.25, 0.01);
    /*
     * Renewal: about target / mean + (variance / mean^2 + 1) / 2 = 24.56 tasks until the target is
     * passed.
     */
    ck_assert_double_eq_tol(n / (double)sums.sets, 6 / 0.25 + (0.0075 / 0.0625 + 1) / 2, 0.3);
    study_spec_done(&spec);
}
END_TEST

/*
 * Every task is equally likely to use a GPU, wherever it stands: chi-square over the first 12
 * places, 11 degrees, 0.1 % point 31.26.
 */
START_TEST(gpu_tasks_are_a_random_subset)
{
    static struct gpusync_job jobs[STUDY_MAX_TASKS];
    struct study_combination combination;
    struct random_state random;
    double counts[12] = {0};
    double chi = 0;
    double total = 0;

    ck_assert_int_eq(
        read_study("study: gpusync\noverheads: {file: o.yaml}\nparameters: {utilisation: {name: fixed, low: "
                   "0.5, high: "
                   "0.5}, period: long, kernel: short, data: 1 MiB, state: none, gpu_share: 0.333333}\n",
                   &spec, &error),
        0);
    study_combination(&spec, 0, &combination);
    random_init(&random, 3, 1);
    for (size_t s = 0; s < 6000; s++) {
        ck_assert_uint_eq(generator_draw(&combination, 6, &random, jobs), 12);
        for (size_t i = 0; i < 12; i++) {
            counts[i] += jobs[i].kernels;
            total += jobs[i].kernels;
        }
    }
    ck_assert_double_eq(total, 6000 * 4);
    for (size_t i = 0; i < 12; i++)
        chi += (counts[i] - 2000) * (counts[i] - 2000) / (2000 * (1 - 1.0 / 3));
    ck_assert_double_lt(chi, 31.26);
    study_spec_done(&spec);
}
END_TEST

START_TEST(a_point_is_drawn_from_what_it_is_not_from_where_it_stands)
{
    struct study_combination combination;
    uint64_t alone;

    ck_assert_int_eq(read_study("study: gpusync\noverheads: {file: o.yaml}\nparameters: {utilisation: heavy, "
                                "period: long, kernel: long, "
                                "data: heavy, state: whole, gpu_share: 1}\n",
                                &spec, &error),
                     0);
    study_combination(&spec, 0, &combination);
    alone = generator_stream(&combination, 1.5);
    study_spec_done(&spec);
    ck_assert_int_eq(read_study("study: gpusync\noverheads: {file: o.yaml}\n", &spec, &error), 0);
    ck_assert_uint_eq(spec.n_units, 486);
    study_combination(&spec, spec.n_units - 1, &combination);
    ck_assert_uint_eq(generator_stream(&combination, 1.5), alone);
    ck_assert_uint_ne(generator_stream(&combination, 1.75), alone);
    study_combination(&spec, spec.n_units - 2, &combination);
    ck_assert_uint_ne(generator_stream(&combination, 1.5), alone);
    study_spec_done(&spec);
}
END_TEST

START_TEST(a_point_ends_when_its_interval_is_narrow)
{
    const struct study_stopping paper = {.least = 500, .most = 4000, .interval = 0.03};

    /*
     * Wilson's width at 1/2: 2 z / (1 + z^2/n) sqrt(1/(4n) + z^2/(4n^2)) = z / sqrt(n + z^2); n =
     * 500: 1.95996 / sqrt(503.8415) = 0.087318
     */
    ck_assert_double_eq_tol(stopping_width(250, 500), 0.087318, 1e-6);
    /* At 0: z^2 / (n + z^2) = 3.841459 / 503.841459 = 0.0076243 */
    ck_assert_double_eq_tol(stopping_width(0, 500), 0.0076243, 1e-7);
    ck_assert(!stopping_enough(&paper, 0, 499));
    ck_assert(stopping_enough(&paper, 0, 500));
    ck_assert(stopping_enough(&paper, 500, 500));
    ck_assert(!stopping_enough(&paper, 250, 500));
    ck_assert(!stopping_enough(&paper, 1999, 3999)); /* z / sqrt(3999 + z^2) = 0.03098 */
    ck_assert(stopping_enough(&paper, 2000, 4000));
    /* p = 0.1: 2 z sqrt(0.09 / n) = 0.03 at about n = 1537 */
    ck_assert(!stopping_enough(&paper, 148, 1480));
    ck_assert(stopping_enough(&paper, 155, 1550));
}
END_TEST

START_TEST(sub_ranks_share_ties)
{
    const double areas[] = {3, 5, 3, 1, 5};
    const double expected[] = {3.5, 1.5, 3.5, 5, 1.5};
    double values[] = {9, 1, 4, 2};
    double ranks[5];
    struct rank_row row = {0};

    rank_sub_ranks(areas, 5, ranks);
    for (size_t i = 0; i < 5; i++)
        ck_assert_double_eq_tol(ranks[i], expected[i], 1e-12);
    rank_summarise(values, 4, &row);
    ck_assert_double_eq_tol(row.median, 3, 1e-12);                 /* (2 + 4) / 2 */
    ck_assert_double_eq_tol(row.average, 4, 1e-12);                /* 16 / 4 */
    ck_assert_double_eq_tol(row.deviation, sqrt(38.0 / 3), 1e-12); /* 25 + 9 + 0 + 4 = 38 over n - 1 = 3 */
}
END_TEST

static const char small[] =
    "study: gpusync\nseed: 5\noverheads: {file: o.yaml}\nplatforms: [\"(C,P,inf)\", \"(P,P,1)\", "
    "\"(P,C,2)\"]\n"
    "parameters: {utilisation: [medium, heavy], period: long, kernel: short, data: light, state: none, "
    "gpu_share: 1}\n"
    "grid: {step: 1, until: 12}\nstop: {least: 10, most: 30, interval: 0.2, cut: 2}\n";

struct collected {
    struct study_point points[64];
    size_t n, stop_after;
};

static int collect(void *context, const struct study_point *point)
{
    struct collected *collected = context;

    ck_assert_uint_lt(collected->n, 64);
    collected->points[collected->n++] = *point;
    return collected->n == collected->stop_after ? -EINTR : 0;
}

START_TEST(a_unit_goes_on_where_it_stopped)
{
    static struct collected whole;
    static struct collected parts;
    struct study_unit unit = {.index = 1};
    struct study_worker *worker;

    ck_assert_int_eq(read_study(small, &spec, &error), 0);
    unit.n = (uint32_t)study_rows(&spec);
    ck_assert_int_eq(study_worker_new(&spec, &worker), 0);
    ck_assert_int_eq(study_worker_unit(worker, &unit, &never, collect, &whole), 0);
    ck_assert_uint_gt(whole.n, 3);
    for (;;) { /* a point at a time, each time from what is known */
        int result;

        parts.stop_after = parts.n + 1;
        result = study_worker_unit(worker, &unit, &never, collect, &parts);
        if (result == 0)
            break;
        for (uint32_t i = 0; i < parts.points[parts.n - 1].n; i++) {
            const struct study_cell *cell = &parts.points[parts.n - 1].cells[i];

            unit.rows[cell->row].next++;
            unit.rows[cell->row].zeros = cell->schedulable ? 0 : unit.rows[cell->row].zeros + 1;
        }
    }
    ck_assert_uint_eq(parts.n, whole.n);
    for (size_t i = 0; i < whole.n; i++) {
        ck_assert_uint_eq(parts.points[i].n, whole.points[i].n);
        ck_assert_mem_eq(parts.points[i].cells, whole.points[i].cells,
                         whole.points[i].n * sizeof whole.points[i].cells[0]);
    }
    study_worker_free(worker);
    study_spec_done(&spec);
}
END_TEST

START_TEST(configurations_see_the_same_sets)
{
    static struct collected all;
    static struct collected one;
    struct study_unit unit = {.index = 0};
    struct study_worker *worker;
    char *only = strdup(small);
    char *begin = strstr(only, "\"(C,P,inf)\", ");

    ck_assert_int_eq(read_study(small, &spec, &error), 0);
    unit.n = (uint32_t)study_rows(&spec);
    ck_assert_int_eq(study_worker_new(&spec, &worker), 0);
    ck_assert_int_eq(study_worker_unit(worker, &unit, &never, collect, &all), 0);
    study_worker_free(worker);
    study_spec_done(&spec);
    memmove(begin, begin + strlen("\"(C,P,inf)\", "), strlen(begin + strlen("\"(C,P,inf)\", ")) + 1);
    ck_assert_int_eq(read_study(only, &spec, &error), 0);
    ck_assert_str_eq(spec.configurations[0].name, "(P,P,1)");
    unit.n = (uint32_t)study_rows(&spec);
    ck_assert_int_eq(study_worker_new(&spec, &worker), 0);
    ck_assert_int_eq(study_worker_unit(worker, &unit, &never, collect, &one), 0);
    /* (P,P,1) is row 1 of the first study and row 0 of the second. */
    for (size_t i = 0; i < one.n; i++)
        for (uint32_t k = 0; k < one.points[i].n; k++) {
            const struct study_cell *cell = &one.points[i].cells[k];

            for (uint32_t m = 0; cell->row == 0 && m < all.points[i].n; m++)
                if (all.points[i].cells[m].row == 1) {
                    ck_assert_uint_eq(all.points[i].cells[m].tested, cell->tested);
                    ck_assert_uint_eq(all.points[i].cells[m].schedulable, cell->schedulable);
                    ck_assert_double_eq(all.points[i].cells[m].tardiness, cell->tardiness);
                }
        }
    study_worker_free(worker);
    study_spec_done(&spec);
    free(only);
}
END_TEST

START_TEST(bad_studies_are_rejected_with_their_place)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *expected;
    } cases[] = {
        {"tasks: []\n", 1, "a study"},
        {"study: gpusync\n", 1, "overheads"},
        {"study: gpusync\noverheads: {file: absent.yaml}\n", 0, "a readable file"},
        {"study: gpusync\noverheads: {file: o.yaml, sets: [B]}\n", 2, "the name of a set"},
        {"study: gpusync\noverheads: {file: o.yaml}\nplatforms: [\"(C,P,4)\"]\n", 3, "table-iv"},
        {"study: gpusync\noverheads: {file: o.yaml}\nparameters: {period: [moderate, moderate]}\n", 3,
         "each value once"},
        {"study: gpusync\noverheads: {file: o.yaml}\nparameters: {kernel: 2}\n", 3, "a part"},
        {"study: gpusync\noverheads: {file: o.yaml}\nstop: {least: 10, most: 5}\n", 3, "not below"},
        {"study: gpusync\noverheads: {file: o.yaml}\ngrid: {step: 0}\n", 3, "a step"},
        {"study: gema\ngpu_utilisation: 1\ndependent: 2\n", 3, "probabilities"},
        {"study: gema\ndependent: 0\n", 1, "gpu_utilisation"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(read_study(cases[i].text, &spec, &error), INPUT_REJECTED);
        ck_assert_msg(strstr(error.expected, cases[i].expected), "case %zu: %s", i, error.expected);
        ck_assert_uint_eq(error.line, cases[i].line);
    }
}
END_TEST

START_TEST(a_user_may_bring_machines_and_distributions)
{
    ck_assert_int_eq(read_study("study: gpusync\noverheads: {file: o.yaml}\nplatforms: [{name: mine, "
                                "platform: {cpus: 4, gpus: 2}}]\n"
                                "parameters: {period: {name: fast, low: 5, high: 10}, data: 64 KiB}\n",
                                &spec, &error),
                     0);
    ck_assert_str_eq(spec.configurations[0].name, "mine");
    ck_assert_double_eq(spec.choices[PARAMETER_PERIOD].values[0].low, 5000);
    ck_assert_double_eq(spec.choices[PARAMETER_DATA].values[0].low, 65536);
    study_spec_done(&spec);
}
END_TEST

HARNESS_MAIN("study", 20, paper_yaml_is_the_papers_study, generated_sets_follow_their_distributions,
             gpu_tasks_are_a_random_subset, a_point_is_drawn_from_what_it_is_not_from_where_it_stands,
             a_point_ends_when_its_interval_is_narrow, sub_ranks_share_ties, a_unit_goes_on_where_it_stopped,
             configurations_see_the_same_sets, bad_studies_are_rejected_with_their_place,
             a_user_may_bring_machines_and_distributions)
