#include "generate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct writer {
    struct generated *set;
    size_t used;
};

static void put(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    writer->used += (size_t)vsnprintf(writer->set->text + writer->used,
                                      sizeof writer->set->text - writer->used, format, arguments);
    va_end(arguments);
}

static unsigned pick(struct random_state *random, unsigned low, unsigned high)
{
    return (unsigned)random_between(random, low, high);
}

/* Milliseconds with three digits, at least 0.001. */
static double ms(double value)
{
    value = floor(value * 1000) / 1000;
    return value < 0.001 ? 0.001 : value;
}

static double log_uniform(struct random_state *random, double low, double high)
{
    return low * pow(high / low, random_unit(random));
}

static void put_placement(struct writer *writer, struct random_state *random, unsigned lanes)
{
    struct generated *set = writer->set;
    unsigned kind = pick(random, 0, 2);

    if (kind == 0) {
        put(writer, ", placement: any, gpus: %u", lanes);
        set->any = true;
    } else if (kind == 1) {
        put(writer, ", placement: chosen, gpus: %u", lanes);
        set->chosen = true;
    } else {
        unsigned first = pick(random, 0, set->gpus - lanes);

        put(writer, ", placement: [");
        for (unsigned q = 0; q < lanes; q++)
            put(writer, "%s%u", q ? ", " : "", first + q);
        put(writer, "]");
        set->fixed = true;
    }
    set->multi |= lanes > 1;
}

static void put_kernel(struct writer *writer, struct random_state *random, double length)
{
    struct generated *set = writer->set;
    unsigned lanes = pick(random, 0, 2) == 0 ? pick(random, 1, set->gpus) : 1;
    bool unequal = lanes == 1 && set->gpus > 1 && pick(random, 0, 5) == 0;
    size_t begin = writer->used;

    if (unequal) {
        put(writer, "{per_gpu_ms: [");
        for (unsigned q = 0; q < set->gpus; q++)
            put(writer, "%s%.3f", q ? ", " : "", ms(length * (0.5 + random_unit(random) / 2)));
        put(writer, "]");
        set->unequal = true;
    } else {
        put(writer, "{kernel_ms: %.3f", ms(length));
    }
    put_placement(writer, random, lanes);
    /* Several sub-kernels of placement `any` run whole: the analysis covers no other. */
    if (pick(random, 0, 1) && !(lanes > 1 && strstr(set->text + begin, "any"))) {
        put(writer, ", piece_ms: %.3f", ms(length / pick(random, 2, 6)));
        set->sliced = true;
    }
    put(writer, "}");
}

static void put_copy(struct writer *writer, struct random_state *random, const char *direction, double length)
{
    put(writer, "{copy_%s_ms: %.3f", direction, ms(length));
    if (pick(random, 0, 2) == 0) {
        put(writer, ", piece_ms: %.3f", ms(length / pick(random, 2, 4)));
        writer->set->sliced = true;
    }
    put(writer, "}");
}

static void put_cpu(struct writer *writer, struct random_state *random, double length)
{
    put(writer, "{cpu_ms: %.3f", ms(length));
    if (pick(random, 0, 1))
        put(writer, ", best_ms: %.3f", floor(ms(length) * random_unit(random) * 1000) / 1000);
    put(writer, "}");
}

static void put_pipeline(struct writer *writer, struct random_state *random, double work)
{
    unsigned rounds = pick(random, 1, 2);
    double share = work / (4.0 * rounds);

    put_cpu(writer, random, share * 2 * random_unit(random));
    for (unsigned r = 0; r < rounds && writer->set->gpus; r++) {
        if (pick(random, 0, 3)) {
            put(writer, ", ");
            put_copy(writer, random, "in", share * random_unit(random));
        }
        put(writer, ", ");
        put_kernel(writer, random, share * 3 * random_unit(random));
        if (pick(random, 0, 3)) {
            put(writer, ", ");
            put_copy(writer, random, "out", share * random_unit(random));
        }
        if (pick(random, 0, 2) == 0) {
            put(writer, ", ");
            put_cpu(writer, random, share * random_unit(random));
        }
    }
}

/* GPU-SPARC's multi mode: copies take longer, kernels run on all GPUs at once. */
static void put_multi_pipeline(struct writer *writer, struct random_state *random, double work)
{
    double kernel = work * (0.3 + 0.5 * random_unit(random));
    double copy = work * 0.1 * random_unit(random);
    double part = ms(kernel / writer->set->gpus);

    put_cpu(writer, random, work * 0.1);
    put(writer, ", {copy_in_ms: %.3f, multi_ms: %.3f}", ms(copy), ms(copy * 2));
    put(writer, ", {kernel_ms: %.3f, multi_ms: %.3f", ms(kernel), part);
    if (pick(random, 0, 1))
        put(writer, ", piece_ms: %.3f", ms(part / pick(random, 1, 3)));
    put(writer, "}, {copy_out_ms: %.3f, multi_ms: %.3f}", ms(copy / 2), ms(copy));
    put(writer, ", {cpu_ms: %.3f, multi_ms: %.3f}", ms(copy / 2), ms(copy));
    writer->set->multi = writer->set->sliced = true;
}

void generate_pipelines(struct random_state *random, struct generated *ret_set)
{
    struct writer writer = {ret_set, 0};
    double load = 0.1 + 0.6 * random_unit(random);

    memset(ret_set, 0, sizeof *ret_set);
    ret_set->tasks = pick(random, 2, 6);
    ret_set->cpus = pick(random, 1, 4);
    ret_set->gpus = pick(random, 1, 4);
    put(&writer, "platform: {cpus: %u, gpus: %u, copy_engines: %u}\ntasks:\n", ret_set->cpus, ret_set->gpus,
        pick(random, 1, 2));
    for (unsigned i = 0; i < ret_set->tasks; i++) {
        double period = ms(log_uniform(random, 5, 100));

        put(&writer, "  - {name: t%u, period_ms: %.3f, segments: [", i, period);
        ret_set->all_gpus[i] = ret_set->gpus > 1 && pick(random, 0, 4) == 0;
        if (ret_set->all_gpus[i])
            put_multi_pipeline(&writer, random, period * load * (0.2 + random_unit(random)));
        else
            put_pipeline(&writer, random, period * load * (0.2 + random_unit(random)));
        put(&writer, "]}\n");
    }
}

void generate_cpu_sets(struct random_state *random, struct generated *ret_set)
{
    struct writer writer = {ret_set, 0};
    double left;

    memset(ret_set, 0, sizeof *ret_set);
    ret_set->tasks = pick(random, 2, 10);
    ret_set->cpus = pick(random, 1, 4);
    left = ret_set->cpus * (0.7 + 0.3 * random_unit(random));
    put(&writer, "platform: {cpus: %u, gpus: 0}\ntasks:\n", ret_set->cpus);
    for (unsigned i = 0; i < ret_set->tasks; i++) {
        double period = ms(log_uniform(random, 5, 100));
        double u = left * (i + 1 == ret_set->tasks ? 1 : 2 * random_unit(random) / (ret_set->tasks - i));

        if (u > 0.99)
            u = 0.99;
        left -= u;
        put(&writer, "  - {name: t%u, period_ms: %.3f, segments: [", i, period);
        put_cpu(&writer, random, period * u);
        put(&writer, "]}\n");
    }
}

void generate_critical_sections(struct random_state *random, bool shared, struct generated *ret_set)
{
    struct writer writer = {ret_set, 0};
    double load = 0.05 + 0.5 * random_unit(random);
    unsigned cluster;

    memset(ret_set, 0, sizeof *ret_set);
    ret_set->tasks = pick(random, 2, 8);
    ret_set->gpus = pick(random, 1, 3);
    cluster = pick(random, 1, 3);
    ret_set->cpus = shared ? cluster * pick(random, 2, 3) : cluster;
    put(&writer, "platform: {cpus: %u, cpu_cluster: %u, gpus: %u, copy_engines: %u, tokens_per_gpu: %u",
        ret_set->cpus, cluster, ret_set->gpus, pick(random, 1, 2), pick(random, 1, 3));
    if (shared) {
        put(&writer, ", attach: [[");
        for (unsigned x = 0; x < ret_set->cpus / cluster; x++)
            put(&writer, "%s%u", x ? ", " : "", x);
        put(&writer, "]]");
    }
    put(&writer, "}\ntasks:\n");
    for (unsigned i = 0; i < ret_set->tasks; i++) {
        double period = ms(log_uniform(random, 10, 100));
        double work = period * load * random_unit(random);

        put(&writer, "  - {name: t%u, period_ms: %.3f, segments: [", i, period);
        put_cpu(&writer, random, work);
        if (pick(random, 0, 4)) {
            put(&writer, ", {copy_in_ms: %.3f}, {kernel_ms: %.3f}", ms(work * 0.1), ms(work * 0.4));
            if (pick(random, 0, 1))
                put(&writer, ", {cpu_ms: %.3f}, {kernel_ms: %.3f}", ms(work * 0.05), ms(work * 0.1));
            put(&writer, ", {copy_out_ms: %.3f}, {cpu_ms: %.3f}", ms(work * 0.1), ms(work * 0.1));
        }
        put(&writer, "]}\n");
    }
}
