/*
 * Prints plans, and computes the seals that show whether a field is unchanged since `baton plan`
 * wrote it.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fingerprint.h"
#include "model/plan.h"
#include "model/print.h"
#include "model/segment.h"

#define SEAL_DIGITS 4 /* per field */

/* ---- the fields of a task ---- */

static void print_name(const struct plan_task *task, FILE *out)
{
    print_quoted(task->name, out);
}

static void print_priority(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%u", task->priority);
}

static void print_gpus(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%u", task->gpus);
}

static void print_placement(const struct plan_task *task, FILE *out)
{
    placement_print(&task->placement, out);
}

static void print_gpu_cluster(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%u", task->gpu_cluster);
}

static void print_cpu_cluster(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%u", task->cpu_cluster);
}

static void print_piece(const struct plan_task *task, FILE *out)
{
    print_duration(task->piece, NSEC_PER_MS, out);
}

static void print_chunk_in(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%" PRId64, task->chunk_in);
}

static void print_chunk_out(const struct plan_task *task, FILE *out)
{
    (void)fprintf(out, "%" PRId64, task->chunk_out);
}

static void print_period(const struct plan_task *task, FILE *out)
{
    print_duration(task->period, NSEC_PER_MS, out);
}

static void print_deadline(const struct plan_task *task, FILE *out)
{
    if (task->no_deadline) {
        (void)fputs("none", out);
        return;
    }
    print_duration(task->deadline, NSEC_PER_MS, out);
}

static void print_point(const struct plan_task *task, FILE *out)
{
    if (task->has_point)
        print_duration(task->point, NSEC_PER_MS, out);
    else
        (void)fputs("null", out);
}

static void print_cost(const struct plan_task *task, FILE *out)
{
    print_duration(task->cost, NSEC_PER_MS, out);
}

static void print_budget(const struct plan_task *task, FILE *out)
{
    print_duration(task->budget, NSEC_PER_MS, out);
}

static void print_until(const struct plan_task *task, FILE *out)
{
    (void)fputs(task->until_gpu ? "gpu" : "job", out);
}

static void print_requests(const struct plan_task *task, FILE *out)
{
    plan_requests_print(&task->requests, out);
}

static void print_bound(const struct plan_task *task, FILE *out)
{
    if (task->bound < 0)
        (void)fputs("null", out);
    else
        print_duration(task->bound, NSEC_PER_MS, out);
}

const struct plan_task_field plan_task_fields[] = {
    {"name", print_name},
    {"priority", print_priority},
    {"period_ms", print_period},
    {"deadline_ms", print_deadline},
    {"gpus", print_gpus},
    {"placement", print_placement},
    {"gpu_cluster", print_gpu_cluster},
    {"cpu_cluster", print_cpu_cluster},
    {"piece_ms", print_piece},
    {"chunk_in", print_chunk_in},
    {"chunk_out", print_chunk_out},
    {"point_ms", print_point},
    {"cost_ms", print_cost},
    {"budget_ms", print_budget},
    {"token_until", print_until},
    {"requests", print_requests},
    {"bound_ms", print_bound},
};
const size_t plan_n_task_fields = sizeof plan_task_fields / sizeof plan_task_fields[0];

#define TASK_FIELDS (sizeof plan_task_fields / sizeof plan_task_fields[0])
_Static_assert(TASK_FIELDS <= 64 && PLAN_FIELDS <= 64, "a set of fields is one uint64_t");

const char *plan_field_key(size_t field)
{
    static const char *const keys[PLAN_BASIS] = {"analysis", "profile", "conditions", "tasks"};

    return field < PLAN_BASIS ? keys[field] : plan_basis_keys[field - PLAN_BASIS];
}

/* ---- seals ---- */

/* Digits for one field of one task, from its name, key and value. 0 or -ENOMEM. */
static int seal_task_field(const struct plan_task *task, size_t field, char ret_digits[SEAL_DIGITS + 1])
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return -ENOMEM;
    (void)fprintf(out, "%s\n%s: ", task->name, plan_task_fields[field].key);
    plan_task_fields[field].print(task, out);
    if (fclose(out) != 0) {
        free(text);
        return -ENOMEM;
    }
    (void)snprintf(ret_digits, SEAL_DIGITS + 1, "%04x",
                   fingerprint_short(fingerprint(FINGERPRINT_START, text, size)));
    free(text);
    return 0;
}

static int seal_task(const struct plan_task *task, char ret_seal[TASK_FIELDS * SEAL_DIGITS + 1])
{
    int result = 0;

    for (size_t i = 0; i < TASK_FIELDS && !result; i++)
        result = seal_task_field(task, i, ret_seal + i * SEAL_DIGITS);
    return result;
}

static uint64_t add_text(uint64_t so_far, const char *text)
{
    return fingerprint(so_far, text, strlen(text) + 1);
}

/* Digits for one field of the plan; task_seals[i]: those of task i as in the file. */
static void seal_field(const struct plan *plan, size_t field, const char *const task_seals[],
                       char ret_digits[SEAL_DIGITS + 1])
{
    uint64_t print = add_text(FINGERPRINT_START, plan_field_key(field));

    switch (field) {
    case PLAN_ANALYSIS:
        print = add_text(print, plan->analysis);
        break;
    case PLAN_PROFILE:
        print = add_text(print, plan->profile);
        break;
    case PLAN_CONDITIONS:
        for (size_t i = 0; i < plan->n_conditions; i++)
            print = add_text(print, plan->conditions[i]);
        break;
    case PLAN_TASKS:
        for (size_t i = 0; i < plan->n_tasks; i++)
            print = add_text(print, task_seals[i]);
        break;
    default:
        print = add_text(print, plan->basis.values[field - PLAN_BASIS]);
        break;
    }
    (void)snprintf(ret_digits, SEAL_DIGITS + 1, "%04x", fingerprint_short(print));
}

/* The seal of a mapping: NULL if absent; INPUT_REJECTED if malformed. */
static int read_seal(const struct document *document, const struct node *mapping, const char **ret_seal,
                     struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, "seal");
    int result = node ? node_text(document, node, "a seal", ret_seal, ret_error) : 0;

    for (const char *at = result || !node ? "" : *ret_seal; *at; at++) {
        if (!isxdigit((unsigned char)*at))
            return document_reject(document, node, ret_error, "a seal: hexadecimal digits");
    }
    return result;
}

/*
 * Finds the fields that do not match their digits. If the number of digits differs from this
 * version's number of fields, no field matches.
 */
static int check_task_seal(struct plan_task *task, const char *seal)
{
    char digits[TASK_FIELDS * SEAL_DIGITS + 1];
    int result = seal_task(task, digits);

    for (size_t i = 0; i < TASK_FIELDS && !result; i++) {
        if (strlen(seal) != sizeof digits - 1 ||
            memcmp(seal + i * SEAL_DIGITS, digits + i * SEAL_DIGITS, SEAL_DIGITS) != 0)
            task->changed |= UINT64_C(1) << i;
    }
    return result;
}

int plan_check_seals(const struct document *document, struct plan *plan, struct input_error *ret_error)
{
    const struct node *node = node_get(document->root, "tasks");
    const char **task_seals = arena_calloc(&plan->arena, plan->n_tasks, sizeof *task_seals);
    const char *seal = NULL;
    int result = task_seals ? read_seal(document, document->root, &seal, ret_error) : -ENOMEM;

    node = node->first;
    for (size_t i = 0; i < plan->n_tasks && !result; i++, node = node->next) {
        task_seals[i] = "";
        result = read_seal(document, node, &task_seals[i], ret_error);
        if (!result)
            result = check_task_seal(&plan->tasks[i], task_seals[i]);
    }
    plan->sealed = seal && strlen(seal) == (size_t)PLAN_FIELDS * SEAL_DIGITS;
    for (size_t i = 0; i < PLAN_FIELDS && !result && plan->sealed; i++) {
        char digits[SEAL_DIGITS + 1];

        seal_field(plan, i, task_seals, digits);
        if (memcmp(seal + i * SEAL_DIGITS, digits, SEAL_DIGITS) != 0)
            plan->changed |= UINT64_C(1) << i;
    }
    return result;
}

/* ---- printing ---- */

static bool is_whole(const struct plan *plan)
{
    bool whole = plan->sealed && !plan->changed;

    for (size_t i = 0; i < plan->n_tasks; i++)
        whole = whole && !plan->tasks[i].changed;
    return whole;
}

static void print_task(const struct plan_task *task, const char *seal, FILE *out)
{
    (void)fputs("  - {", out);
    for (size_t i = 0; i < TASK_FIELDS; i++) {
        (void)fprintf(out, "%s%s: ", i ? ", " : "", plan_task_fields[i].key);
        plan_task_fields[i].print(task, out);
    }
    if (seal)
        (void)fprintf(out, ", seal: \"%s\"", seal);
    (void)fputs("}\n", out);
}

static void print_plan_seal(const struct plan *plan, const char *const seals[], FILE *out)
{
    (void)fputs("seal: \"", out);
    for (size_t i = 0; i < PLAN_FIELDS; i++) {
        char digits[SEAL_DIGITS + 1];

        seal_field(plan, i, seals, digits);
        (void)fputs(digits, out);
    }
    (void)fputs("\"\n", out);
}

/* The seals of all tasks; NULL when memory is short. */
static char *seal_tasks(const struct plan *plan, const char *ret_seals[])
{
    size_t size = TASK_FIELDS * SEAL_DIGITS + 1;
    char *text = calloc(plan->n_tasks + 1, size);

    for (size_t i = 0; text && i < plan->n_tasks; i++) {
        ret_seals[i] = text + i * size;
        if (seal_task(&plan->tasks[i], text + i * size)) {
            free(text);
            return NULL;
        }
    }
    return text;
}

void plan_print(const struct plan *plan, FILE *out)
{
    const char **seals = calloc(plan->n_tasks + 1, sizeof *seals);
    char *text = seals && is_whole(plan) ? seal_tasks(plan, seals) : NULL;

    (void)fputs("analysis: ", out);
    print_quoted(plan->analysis, out);
    (void)fputs("\nprofile: ", out);
    print_quoted(plan->profile, out);
    (void)fputc('\n', out);
    plan_basis_print(&plan->basis, out);
    if (text)
        print_plan_seal(plan, seals, out);
    if (plan->n_conditions) {
        (void)fputs("conditions:\n", out);
        for (size_t i = 0; i < plan->n_conditions; i++) {
            (void)fputs("  - ", out);
            print_quoted(plan->conditions[i], out);
            (void)fputc('\n', out);
        }
    }
    (void)fputs("tasks:\n", out);
    for (size_t i = 0; i < plan->n_tasks; i++)
        print_task(&plan->tasks[i], text ? seals[i] : NULL, out);
    free(text);
    free(seals);
}
