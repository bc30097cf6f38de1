#include "model/task_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "model/print.h"

static const char *const boundary_names[] = {"inferred", "explicit", NULL};
static const char *const worst_names[] = {"segments", "job", NULL};
static const char *const period_names[] = {"given", "inferred", NULL};

struct profile_reader {
    const struct document *document;
    const struct node *mapping;
    struct arena *arena;
    struct input_error *error;
};

static int read_count(const struct profile_reader *r, const char *key, int64_t low, int64_t *ret_value)
{
    const struct node *node = node_get(r->mapping, key);

    return node ? node_int(r->document, node, key, low, INT64_C(1000000000), ret_value, r->error) : 0;
}

static int read_time(const struct profile_reader *r, const struct node *mapping, const char *key,
                     baton_nsec *ret_value)
{
    const struct node *node = node_get(mapping, key);

    return node ? node_duration(r->document, node, "a time in ms", NSEC_PER_MS, 0, ret_value, r->error) : 0;
}

static int read_name(const struct profile_reader *r, const struct node *mapping, const char *key,
                     const char **ret_text)
{
    const struct node *node = node_get(mapping, key);
    const char *text = NULL;
    int result = node ? node_text(r->document, node, "a name", &text, r->error) : 0;

    if (!result && text && !(*ret_text = arena_strndup(r->arena, text, strlen(text))))
        result = -ENOMEM;
    return result;
}

static int read_response(const struct profile_reader *r, struct task_profile *profile)
{
    static const char *const keys[] = {"best", "mean", "worst", NULL};
    const struct node *node = node_get(r->mapping, "response_ms");
    int result;

    if (!node)
        return 0;
    result = node_expect_mapping(r->document, node, keys, r->error);
    if (!result)
        result = read_time(r, node, "best", &profile->best);
    if (!result)
        result = read_time(r, node, "mean", &profile->mean);
    if (!result)
        result = read_time(r, node, "worst", &profile->worst);
    if (!result && (profile->best > profile->mean || profile->mean > profile->worst))
        result = document_reject(r->document, node, r->error, "best <= mean <= worst");
    return result;
}

static int read_segments(const struct profile_reader *r, size_t n_segments, struct task_profile *profile)
{
    static const char *const keys[] = {"mean_ms", "worst_ms", "job_ms", "kernel", "unsliced", NULL};
    const struct node *list = node_get(r->mapping, "segments");
    int result;

    if (!list)
        return 0;
    result = node_expect_sequence(r->document, list, "a list with one entry per segment", r->error);
    if (!result && list->n != n_segments)
        result = document_reject(r->document, list, r->error, "%zu entries, one per segment of the task",
                                 n_segments);
    if (result)
        return result;
    profile->segments = arena_calloc(r->arena, list->n, sizeof *profile->segments);
    if (!profile->segments)
        return -ENOMEM;
    for (const struct node *node = list->first; node && !result; node = node->next) {
        struct segment_profile *segment = &profile->segments[profile->n_segments++];

        result = node_expect_mapping(r->document, node, keys, r->error);
        if (!result)
            result = read_time(r, node, "mean_ms", &segment->mean);
        if (!result)
            result = read_time(r, node, "worst_ms", &segment->worst);
        if (!result)
            result = read_time(r, node, "job_ms", &segment->in_worst_job);
        if (!result)
            result = read_name(r, node, "kernel", &segment->kernel);
        if (!result)
            result = read_name(r, node, "unsliced", &segment->unsliced);
    }
    return result;
}

static int read_choice(const struct profile_reader *r, const char *key, const char *const names[],
                       bool *ret_second)
{
    const struct node *node = node_get(r->mapping, key);
    unsigned index = 0;
    int result = node ? node_choice(r->document, node, key, names, &index, r->error) : 0;

    if (!result && node)
        *ret_second = index == 1;
    return result;
}

int task_profile_read(const struct document *document, const struct node *mapping, size_t n_segments,
                      struct arena *arena, struct task_profile **ret_profile, struct input_error *ret_error)
{
    static const char *const keys[] = {
        "jobs",   "warm",        "other_shapes", "other_longest_ms", "incomplete", "waits",    "boundaries",
        "period", "shortest_ms", "spread",       "response_ms",      "worst",      "segments", NULL};
    const struct profile_reader r = {document, mapping, arena, ret_error};
    struct task_profile *profile = arena_calloc(arena, 1, sizeof *profile);
    const struct node *spread = NULL;
    int result = profile ? node_expect_mapping(document, mapping, keys, ret_error) : -ENOMEM;

    if (result)
        return result;
    profile->waits = 1;
    spread = node_get(mapping, "spread");
    if ((result = read_count(&r, "jobs", 0, &profile->jobs)) ||
        (result = read_count(&r, "warm", 0, &profile->warm)) ||
        (result = read_count(&r, "other_shapes", 0, &profile->other_shapes)) ||
        (result = read_time(&r, mapping, "other_longest_ms", &profile->other_longest)) ||
        (result = read_count(&r, "incomplete", 0, &profile->incomplete)) ||
        (result = read_count(&r, "waits", 1, &profile->waits)) ||
        (result = read_choice(&r, "boundaries", boundary_names, &profile->explicit_boundaries)) ||
        (result = read_choice(&r, "period", period_names, &profile->period_inferred)) ||
        (result = read_time(&r, mapping, "shortest_ms", &profile->shortest)) ||
        (result =
             spread ? node_number(document, spread, "a spread", 0, 1e9, &profile->spread, ret_error) : 0) ||
        (result = read_choice(&r, "worst", worst_names, &profile->of_worst_job)) ||
        (result = read_response(&r, profile)))
        return result;
    result = read_segments(&r, n_segments, profile);
    if (!result)
        *ret_profile = profile;
    return result;
}

static void print_time(const char *before, baton_nsec value, FILE *out)
{
    (void)fputs(before, out);
    print_duration(value, NSEC_PER_MS, out);
}

void task_profile_print(const struct task_profile *profile, FILE *out)
{
    (void)fprintf(
        out, "    profile:\n      jobs: %" PRId64 "\n      warm: %" PRId64 "\n      other_shapes: %" PRId64,
        profile->jobs, profile->warm, profile->other_shapes);
    if (profile->other_longest)
        print_time("\n      other_longest_ms: ", profile->other_longest, out);
    (void)fprintf(out,
                  "\n      incomplete: %" PRId64 "\n      waits: %" PRId64
                  "\n      boundaries: %s\n      period: %s",
                  profile->incomplete, profile->waits, boundary_names[profile->explicit_boundaries],
                  period_names[profile->period_inferred]);
    if (profile->shortest)
        print_time("\n      shortest_ms: ", profile->shortest, out);
    print_time("\n      response_ms: {best: ", profile->best, out);
    print_time(", mean: ", profile->mean, out);
    print_time(", worst: ", profile->worst, out);
    (void)fprintf(out, "}\n      spread: %.3f\n      worst: %s\n", profile->spread,
                  worst_names[profile->of_worst_job]);
    if (profile->n_segments)
        (void)fputs("      segments:\n", out);
    for (size_t i = 0; i < profile->n_segments; i++) {
        const struct segment_profile *segment = &profile->segments[i];

        print_time("        - {mean_ms: ", segment->mean, out);
        if (segment->worst)
            print_time(", worst_ms: ", segment->worst, out);
        if (segment->in_worst_job)
            print_time(", job_ms: ", segment->in_worst_job, out);
        if (segment->kernel) {
            (void)fputs(", kernel: ", out);
            print_quoted(segment->kernel, out);
        }
        if (segment->unsliced) {
            (void)fputs(", unsliced: ", out);
            print_quoted(segment->unsliced, out);
        }
        (void)fputs("}\n", out);
    }
}
