#include "cli/batch/calibration.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "client/batch/batch_cores.h"

#define NV_ASYNC_ENGINES 0x4007 /* CL_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT_NV */

/* Bits of all routes in one direction. */
uint64_t calibration_direction(size_t n_routes, bool out)
{
    uint64_t mask = 0;

    for (size_t r = out; r < n_routes; r += 2)
        mask |= UINT64_C(1) << r;
    return mask;
}

static double sum(const double values[], size_t n)
{
    double total = 0;

    for (size_t i = 0; i < n; i++)
        total += values[i];
    return total;
}

/* The highest throughput measured in one direction: the capacity of the host's side. */
static double shared_capacity(const struct calibration *it, bool out, bool lowest)
{
    double most = 0;

    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];

        if ((combination->routes & calibration_direction(it->n_routes, !out)) == 0)
            most = fmax(most, sum(lowest ? combination->lowest : combination->median, combination->n));
    }
    return most;
}

static unsigned count_engines(const struct calibration *it, size_t device)
{
    cl_uint engines = 2;

    if (it->machine.cl->clGetDeviceInfo(it->machine.devices[device].device, NV_ASYNC_ENGINES, sizeof engines,
                                        &engines, NULL) != CL_SUCCESS)
        return 2;
    return engines < 2 ? 1 : 2;
}

size_t calibration_cores(const struct calibration *it)
{
    struct batch_cores cores;

    for (size_t d = 0; d < it->n_devices; d++) {
        cl_device_type type = 0;

        if (it->machine.cl->clGetDeviceInfo(it->machine.devices[d].device, CL_DEVICE_TYPE, sizeof type, &type,
                                            NULL) != CL_SUCCESS ||
            !(type & CL_DEVICE_TYPE_CPU))
            return 0;
    }
    batch_cores_init(&cores);
    return batch_cores_count(&cores);
}

static void print_link(FILE *out, const char *from, const char *to, double gbps, double lowest)
{
    (void)fprintf(out, "  - {from: %s, to: %s, gbps: %.6g, lowest_gbps: %.6g}\n", from, to, gbps,
                  fmin(gbps, lowest));
}

static void print_rates(FILE *out, const char *key, const double rates[], size_t n)
{
    (void)fprintf(out, ", %s: ", key);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%.6g", i ? ", " : "[", rates[i]);
    (void)fputc(']', out);
}

void calibration_write(const struct calibration *it, baton_nsec setup, FILE *out)
{
    (void)fprintf(
        out,
        "# Written by baton batch calibrate: median and lowest of %zu measurements with %lld bytes each.\n",
        it->repeat, (long long)it->bytes);
    for (size_t d = 0; d < it->n_devices; d++)
        (void)fprintf(out, "# device %zu: %s\n", d, it->machine.devices[d].name);
    (void)fprintf(out, "setup_ms: %.4f\n", nsec_to_ms(setup));
    if (calibration_cores(it))
        (void)fprintf(out, "cores: %zu # that copy and run the kernels\n", calibration_cores(it));
    (void)fputs("sizes: # speed of one command\n", out);
    for (size_t i = 0; i < it->n_sizes; i++)
        (void)fprintf(out, "  - {bytes: %.0f, ratio: %.4f}\n", it->sizes[i].bytes, it->sizes[i].ratio);
    (void)fputs("gpus:\n", out);
    for (size_t d = 0; d < it->n_devices; d++)
        (void)fprintf(out, "  - {node: GPU%zu, engines: %u, device: %zu}\n", d, count_engines(it, d), d);
    (void)fputs("links: # GB/s\n", out);
    print_link(out, "MEM0", "HOST", shared_capacity(it, false, false), shared_capacity(it, false, true));
    print_link(out, "HOST", "MEM0", shared_capacity(it, true, false), shared_capacity(it, true, true));
    for (size_t r = 0; r < it->n_routes; r++) {
        const struct combination *alone = &it->combinations[r];
        char gpu[32];

        (void)snprintf(gpu, sizeof gpu, "GPU%zu", r / 2);
        print_link(out, r % 2 ? gpu : "HOST", r % 2 ? "HOST" : gpu, alone->median[0], alone->lowest[0]);
    }
    (void)fputs("measured: # exactly these transfers at once\n", out);
    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        const char *before = "[";

        if (combination->n < 2)
            continue;
        (void)fputs("  - {transfers: ", out);
        for (size_t r = 0; r < it->n_routes; r++) {
            if (!(combination->routes & (UINT64_C(1) << r)))
                continue;
            (void)fprintf(out, r % 2 ? "%s[GPU%zu, MEM0]" : "%s[MEM0, GPU%zu]", before, r / 2);
            before = ", ";
        }
        (void)fputc(']', out);
        print_rates(out, "gbps", combination->median, combination->n);
        print_rates(out, "lowest_gbps", combination->lowest, combination->n);
        (void)fputs("}\n", out);
    }
}

static void note_change(struct calibration *it, double before, double now, const char *from, const char *to)
{
    double percent = 100 * fabs(now - before) / before;

    if (!(percent <= it->change)) {
        it->change = percent;
        (void)snprintf(it->changed, sizeof it->changed, "%.24s to %.24s", from, to);
    }
}

/* The largest change of any link against the file to be replaced. */
void calibration_compare(struct calibration *it, const char *path)
{
    struct topology old;
    struct input_error error;

    it->change = NAN;
    if (strcmp(path, "-") == 0 || topology_read_file(path, &old, &error) != 0)
        return;
    for (size_t i = 0; i < it->topology.n_links; i++) {
        const struct topology_link *link = &it->topology.links[i];
        const char *from = it->topology.nodes[link->from].name;
        const char *to = it->topology.nodes[link->to].name;

        for (size_t k = 0; k < old.n_links; k++) {
            if (strcmp(old.nodes[old.links[k].from].name, from) == 0 &&
                strcmp(old.nodes[old.links[k].to].name, to) == 0)
                note_change(it, old.links[k].gbps, link->gbps, from, to);
        }
    }
    topology_done(&old);
}

enum route_group { GROUP_IN, GROUP_OUT, GROUP_BOTH };
static const char *const group_names[] = {"in", "out", "both"};

static enum route_group group_of(const struct calibration *it, const struct combination *combination)
{
    if ((combination->routes & calibration_direction(it->n_routes, true)) == 0)
        return GROUP_IN;
    return (combination->routes & calibration_direction(it->n_routes, false)) == 0 ? GROUP_OUT : GROUP_BOTH;
}

static double graph_error(const struct combination *combination)
{
    double measured = sum(combination->median, combination->n);

    return 100 * (combination->graph - measured) / measured;
}

/* The largest error of the graph in a group, with its sign. */
static double worst_error(const struct calibration *it, enum route_group group)
{
    double worst = 0;

    for (size_t c = 0; c < it->n_combinations; c++) {
        double error = graph_error(&it->combinations[c]);

        if (group_of(it, &it->combinations[c]) == group && fabs(error) > fabs(worst))
            worst = error;
    }
    return worst;
}

static void describe(const struct calibration *it, const struct combination *combination, char *ret_text,
                     size_t size)
{
    size_t at = 0;

    ret_text[0] = 0;
    for (size_t r = 0; r < it->n_routes && at < size; r++) {
        if (combination->routes & (UINT64_C(1) << r))
            at += (size_t)snprintf(ret_text + at, size - at, "%s%s GPU%zu", at ? ", " : "",
                                   r % 2 ? "out" : "in", r / 2);
    }
}

void calibration_report(const struct calibration *it, const char *path)
{
    FILE *to = strcmp(path, "-") == 0 ? stderr : stdout;

    (void)fprintf(to, "%-48s %10s %10s %10s %8s\n", "transfers at once", "graph", "measured", "lowest",
                  "error");
    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        char text[256];

        describe(it, combination, text, sizeof text);
        (void)fprintf(to, "%-48.48s %10.3f %10.3f %10.3f %+7.1f%%\n", text, combination->graph,
                      sum(combination->median, combination->n), sum(combination->lowest, combination->n),
                      graph_error(combination));
    }
    (void)fprintf(to, "\ngraph against measured, at most: %+.1f%% in, %+.1f%% out, %+.1f%% both ways\n",
                  worst_error(it, GROUP_IN), worst_error(it, GROUP_OUT), worst_error(it, GROUP_BOTH));
    (void)fprintf(to, "set-up %.3f ms; %zu of %zu samples disturbed by other programs, and taken again\n",
                  nsec_to_ms(it->topology.setup), it->n_disturbed, it->n_samples);
    (void)fputs("speed of one command by its size in MiB:", to);
    for (size_t i = 0; i < it->n_sizes; i++)
        (void)fprintf(to, " %.3g: %.0f%%", it->sizes[i].bytes / (1 << 20), 100 * it->sizes[i].ratio);
    (void)fputc('\n', to);
    if (isnan(it->change))
        (void)fprintf(to, "%s: written\n", path);
    else
        (void)fprintf(to, "%s: written anew; largest change of a link %.1f%% (%s)\n", path, it->change,
                      it->changed);
}

void calibration_report_json(const struct calibration *it, const char *path)
{
    json_t *list = json_array();
    json_t *sizes = json_array();
    json_t *answer;

    for (size_t i = 0; i < it->n_sizes; i++)
        json_array_append_new(
            sizes, json_pack("{s:f, s:f}", "bytes", it->sizes[i].bytes, "ratio", it->sizes[i].ratio));
    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        char text[256];

        describe(it, combination, text, sizeof text);
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "transfers", text,
                                              "direction", group_names[group_of(it, combination)],
                                              "graph_gbps", combination->graph, "measured_gbps",
                                              sum(combination->median, combination->n), "lowest_gbps",
                                              sum(combination->lowest, combination->n), "error_percent",
                                              graph_error(combination)));
    }
    answer =
        json_pack("{s:s, s:f, s:o, s:i, s:i, s:{s:f, s:f, s:f}, s:o, s:o}", "file", path, "setup_ms",
                  nsec_to_ms(it->topology.setup), "sizes", sizes, "samples", (int)it->n_samples, "disturbed",
                  (int)it->n_disturbed, "graph_error_percent", "in", worst_error(it, GROUP_IN), "out",
                  worst_error(it, GROUP_OUT), "both", worst_error(it, GROUP_BOTH), "change_percent",
                  isnan(it->change) ? json_null() : json_real(it->change), "combinations", list);
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
}
