/*
 * Every value of an independent transcription: 45 task-set files under three variants of the
 * analysis, with all intermediate terms (reference/README). Fields absent here do not exist there:
 * all of them are compared.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_task_set.h"
#include "harness.h"
#include "model/task_set.h"

static size_t compared;
static size_t wrong;

/*
 * 1e-9 of a value. Set 53 has kernels of a third of a microsecond, which its file gives to the
 * nanosecond: 2 ns there.
 */
static void same(const char *id, const char *field, size_t index, double expected, double found)
{
    double scale = fabs(expected) > 1 ? fabs(expected) : 1;
    double rounding = strcmp(id, "53") == 0 ? 0.002 : 0;

    compared++;
    if (fabs(expected - found) <= 1e-9 * scale + rounding)
        return;
    wrong++;
    if (wrong <= 400)
        (void)printf("%s[%zu].%s: expected %.13g, found %.13g\n", id, index, field, expected, found);
}

static void same_number(const char *id, const json_t *object, const char *field, size_t index, double found)
{
    const json_t *expected = json_object_get(object, field);

    ck_assert_msg(expected != NULL, "%s has no %s", id, field);
    if (json_is_null(expected))
        same(id, field, index, 1, found < 0 ? 1 : 0);
    else if (json_is_boolean(expected))
        same(id, field, index, json_is_true(expected), found);
    else
        same(id, field, index, json_number_value(expected), found);
}

static void compare_task(const char *id, const json_t *e, size_t i, const struct gpusync_task *task,
                         const struct gpusync_terms *t)
{
    bool gpu = task->uses_gpu;
    double moved = t->few_rule ? 0
                   : task->count[OPERATION_STATE_PEER] > task->count[OPERATION_STATE_IN]
                       ? task->count[OPERATION_STATE_PEER]
                       : task->count[OPERATION_STATE_IN];
    const struct {
        const char *name;
        double value;
    } fields[] = {{"gpu_cluster", gpu ? (double)t->gpu_cluster : -1},
                  {"cpu_cluster", t->cpu_cluster},
                  {"N_I", task->count[OPERATION_IN]},
                  {"N_O", task->count[OPERATION_OUT]},
                  {"N_S", moved},
                  {"N_K", task->count[OPERATION_KERNEL]},
                  {"eta", t->operations},
                  {"y", t->engines},
                  {"rho_eff", t->tokens},
                  {"few_rule", t->few_rule},
                  {"xmit", t->xmit},
                  {"u", t->utilisation},
                  {"u_gpu", t->gpu_utilisation},
                  {"b_EE", t->execution_blocking},
                  {"b_CE", t->copy_blocking},
                  {"K", t->critical_section},
                  {"K_request", t->token_request},
                  {"N_TCX", t->token_sections},
                  {"direct", t->direct},
                  {"span", t->span},
                  {"donation", t->donation},
                  {"b_K", t->token_blocking},
                  {"b", t->blocking},
                  {"H", t->interrupts},
                  {"e_hat", t->execution},
                  {"e_inflated", t->inflated},
                  {"C", t->cost},
                  {"priority_point", t->point},
                  {"response", t->response},
                  {"r_final", t->r},
                  {"tardiness", t->tardiness}};

    ck_assert_uint_eq(json_object_size(e), sizeof fields / sizeof fields[0]);
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++)
        same_number(id, e, fields[k].name, i, fields[k].value);
}

static void compare_cluster(const char *id, const json_t *e, size_t x, const struct gpusync_cluster_terms *c)
{
    same_number(id, e, "n", x, (double)c->n);
    same_number(id, e, "U", x, c->total);
    same_number(id, e, "s", x, c->answer ? -1 : c->s);
    same_number(id, e, "ok", x, c->answer == 0);
    same_number(id, e, "u_tick_irq", x, c->stolen);
    same_number(id, e, "c_pre", x, c->preemption);
    ck_assert_uint_eq(json_object_size(e), 6);
}

static void compare_case(const char *id, const json_t *expected, const struct gpusync_options *options)
{
    static const char *const reasons[] = {"ok", "U", "C>T", "no fixed point"};
    char name[64];
    struct task_set set;
    struct input_error error;
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
    struct gpusync_limits limits;
    char message[600];
    int answer;

    (void)snprintf(name, sizeof name, "analysis_gpusync/reference/sets/%s.json", id);
    answer = task_set_read_file(harness_data(name), &set, &error);
    if (answer)
        (void)input_error_format(&error, message, sizeof message);
    ck_assert_msg(answer == 0, "%s: %s", name, message);
    ck_assert_int_eq(gpusync_system_init(&set.platform, &set.arena, &system), 0);
    limits = gpusync_task_set_limits(&set);
    ck_assert_int_eq(gpusync_workspace_new(&limits, &workspace), 0);
    ck_assert_int_eq(gpusync_task_set_load(workspace, &system, &set, &error), 0);
    answer = gpusync_analyse(workspace, &system, options);
    same(id, "schedulable", 0, json_is_true(json_object_get(expected, "schedulable")), answer == 0);
    same(id, "reason", 0, 1,
         strcmp(reasons[answer], json_string_value(json_object_get(expected, "reason"))) == 0);
    same_number(id, expected, "rounds", 0, workspace->rounds);
    for (size_t i = 0; i < set.n_tasks; i++)
        compare_task(id, json_array_get(json_object_get(expected, "tasks"), i), i, &workspace->tasks[i],
                     &workspace->terms[i]);
    for (unsigned x = 0; x < system.cpu_clusters; x++)
        compare_cluster(id, json_array_get(json_object_get(expected, "clusters"), x), x,
                        &workspace->clusters[x]);
    gpusync_workspace_free(workspace);
    task_set_done(&set);
}

static void compare_variant(const char *file, const struct gpusync_options *options)
{
    json_error_t error;
    json_t *cases = json_load_file(harness_data(file), 0, &error);
    const char *id;
    json_t *expected;

    ck_assert_msg(cases != NULL, "%s", error.text);
    ck_assert_uint_eq(json_object_size(cases), 45);
    json_object_foreach(cases, id, expected)
    {
        size_t before = wrong;

        compare_case(id, expected, options);
        if (wrong > before)
            (void)printf("case %s (%s): %zu values differ\n", id,
                         json_string_value(json_object_get(expected, "label")), wrong - before);
    }
    json_decref(cases);
    /* 920 tasks of 31 terms, 185 clusters of 6, 45 verdicts with reason and rounds. */
    ck_assert_uint_eq(compared, 920 * 31 + 185 * 6 + 45 * 3);
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(printed_variant_agrees_with_every_reference_value)
{
    compare_variant("analysis_gpusync/reference/values_printed.json", &gpusync_printed);
}
END_TEST

START_TEST(sound_variant_without_fifo_caps_agrees_with_every_reference_value)
{
    const struct gpusync_options options = {.sound = true, .peer = PEER_MIGRATIONS};

    compare_variant("analysis_gpusync/reference/values_sound.json", &options);
}
END_TEST

START_TEST(sound_variant_with_fifo_caps_agrees_with_every_reference_value)
{
    const struct gpusync_options options = {.sound = true, .tight = true, .peer = PEER_MIGRATIONS};

    compare_variant("analysis_gpusync/reference/values_sound_tight.json", &options);
}
END_TEST

HARNESS_MAIN("gpusync reference values", 60, printed_variant_agrees_with_every_reference_value,
             sound_variant_without_fifo_caps_agrees_with_every_reference_value,
             sound_variant_with_fifo_caps_agrees_with_every_reference_value)
