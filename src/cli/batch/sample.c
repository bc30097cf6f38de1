/*
 * The measurements of `baton batch calibrate`: every combination of routes, and the speed of single
 * commands by size.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch/calibration.h"

#define ALL_SUBSETS 4 /* with at most this many routes every combination is measured */
#define TRIES       3 /* per sample, when other programs disturb it */
#define SIZE_REPEAT 9 /* measurements of one size */
#define ENOUGH      3 /* with this many undisturbed samples, disturbed ones are ignored */

static void add_combination(struct calibration *it, uint64_t routes)
{
    for (size_t c = 0; c < it->n_combinations; c++) {
        if (it->combinations[c].routes == routes)
            return;
    }
    if (it->n_combinations == MAX_COMBINATIONS)
        return;
    it->combinations[it->n_combinations].routes = routes;
    it->combinations[it->n_combinations++].n = (size_t)__builtin_popcountll(routes);
}

/* All subsets of few routes. Of many routes: each alone, each pair, each direction, and all. */
static void choose_combinations(struct calibration *it)
{
    uint64_t all = (UINT64_C(1) << it->n_routes) - 1;

    for (size_t a = 0; a < it->n_routes; a++)
        add_combination(it, UINT64_C(1) << a);
    for (size_t a = 0; a < it->n_routes; a++) {
        for (size_t b = a + 1; b < it->n_routes; b++)
            add_combination(it, UINT64_C(1) << a | UINT64_C(1) << b);
    }
    add_combination(it, calibration_direction(it->n_routes, false));
    add_combination(it, calibration_direction(it->n_routes, true));
    add_combination(it, all);
    for (uint64_t mask = 1; it->n_routes <= ALL_SUBSETS && mask <= all; mask++)
        add_combination(it, mask);
}

static void show_progress(struct calibration *it, size_t done, size_t all)
{
    size_t percent = 100 * done / all;

    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\rcalibrating: %3zu %% of %zu combinations x %zu%s", percent,
                      it->n_combinations, it->repeat, done == all ? "\n" : "");
    else if (percent / 25 > it->shown / 25)
        (void)fprintf(stderr, "calibrating: %zu %%\n", percent);
    it->shown = percent;
}

/*
 * The samples of one combination: undisturbed ones from the front, disturbed ones from the back
 * while there is room.
 */
struct samples {
    double (*gbps)[MAX_ROUTES]; /* repeat of them */
    size_t n_good, n_bad;
};

/* Takes one more sample; the routes take turns in starting first. */
static cl_int take_sample(struct calibration *it, struct combination *combination, struct samples *samples)
{
    struct measured_route *together[MAX_ROUTES];
    double rates[MAX_ROUTES];
    size_t place[MAX_ROUTES];
    double *to;
    bool disturbed;
    size_t n = 0;
    cl_int error;

    for (size_t route = 0; route < it->n_routes; route++) {
        if (combination->routes & (UINT64_C(1) << route)) {
            place[n] = (n + samples->n_good + samples->n_bad) % combination->n;
            together[place[n++]] = &it->routes[route];
        }
    }
    error = measure_together(&it->machine, together, n, it->window, rates, &disturbed);
    if (error)
        return error;
    it->n_samples++;
    it->n_disturbed += disturbed;
    if (disturbed && samples->n_good + samples->n_bad >= it->repeat)
        return CL_SUCCESS;
    to = samples->gbps[disturbed ? it->repeat - ++samples->n_bad : samples->n_good++];
    for (size_t i = 0; i < n; i++) {
        to[i] = rates[place[i]];
        if (!(combination->lowest[i] > 0 && combination->lowest[i] < to[i]))
            combination->lowest[i] = to[i];
    }
    return CL_SUCCESS;
}

/* Does sample r count? Disturbed samples count only if there are too few others. */
static bool counts(const struct calibration *it, const struct samples *samples, size_t r)
{
    return r < samples->n_good || (samples->n_good < ENOUGH && r + samples->n_bad >= it->repeat);
}

/*
 * How far the slowest route of a combination falls behind the average route, in the median. A batch
 * ends when its slowest copy ends.
 */
static double lag_of_slowest(const struct calibration *it, const struct combination *combination,
                             const struct samples *samples, const double average[])
{
    double lags[MAX_REPEAT] = {0};
    size_t n = 0;

    for (size_t r = 0; r < it->repeat; r++) {
        if (!counts(it, samples, r))
            continue;
        lags[n] = INFINITY;
        for (size_t i = 0; i < combination->n; i++)
            lags[n] = fmin(lags[n], samples->gbps[r][i] / average[i]);
        n++;
    }
    qsort(lags, n, sizeof *lags, calibration_compare_double);
    return lags[n / 2];
}

/*
 * The median of the sum, divided among the routes as on average. With too few cores, chance decides
 * which route has a core of its own. With enough cores, the median of the slowest route.
 */
static void conclude(const struct calibration *it, struct combination *combination,
                     const struct samples *samples)
{
    double average[MAX_ROUTES] = {0};
    double sums[MAX_REPEAT] = {0};
    double total = 0;
    double scale;
    size_t cores = calibration_cores(it);
    size_t n = 0;

    for (size_t r = 0; r < it->repeat; r++) {
        if (!counts(it, samples, r))
            continue;
        for (size_t i = 0; i < combination->n; i++) {
            sums[n] += samples->gbps[r][i];
            average[i] += samples->gbps[r][i];
        }
        total += sums[n++];
    }
    for (size_t i = 0; i < combination->n; i++)
        average[i] /= (double)n;
    qsort(sums, n, sizeof *sums, calibration_compare_double);
    scale = cores == 0 || combination->n <= cores ? lag_of_slowest(it, combination, samples, average)
                                                  : sums[n / 2] / (total / (double)n);
    for (size_t i = 0; i < combination->n; i++) {
        combination->median[i] = average[i] * scale;
        combination->lowest[i] = fmin(combination->lowest[i], combination->median[i]);
    }
}

/*
 * Samples the combinations in turn, so that one disturbance does not affect all samples of a
 * combination. Disturbed samples are repeated.
 */
static cl_int take_samples(struct calibration *it, struct samples samples[])
{
    size_t all = it->n_combinations * it->repeat;
    size_t done = 0;

    for (size_t round = 0; round < TRIES * it->repeat && done < all; round++) {
        for (size_t c = 0; c < it->n_combinations; c++) {
            size_t before = samples[c].n_good;
            cl_int error;

            if (samples[c].n_good == it->repeat)
                continue;
            error = take_sample(it, &it->combinations[c], &samples[c]);
            if (error)
                return error;
            done += samples[c].n_good - before;
            show_progress(it, done < all ? done : all, all);
        }
    }
    if (done < all)
        show_progress(it, all, all);
    return CL_SUCCESS;
}

int calibration_measure_combinations(struct calibration *it)
{
    struct samples *samples;
    double(*gbps)[MAX_ROUTES];
    cl_int error;

    choose_combinations(it);
    samples = calloc(it->n_combinations, sizeof *samples);
    gbps = calloc(it->n_combinations * it->repeat, sizeof *gbps);
    if (!samples || !gbps) {
        free(samples);
        free(gbps);
        return cli_fail_environment(it->args, -ENOMEM, "memory");
    }
    for (size_t c = 0; c < it->n_combinations; c++)
        samples[c].gbps = gbps + c * it->repeat;
    error = take_samples(it, samples);
    for (size_t c = 0; c < it->n_combinations && !error; c++)
        conclude(it, &it->combinations[c], &samples[c]);
    free(samples);
    free(gbps);
    return error ? cli_fail_environment(it->args, -EIO, "a copy failed: %s", opencl_error_name(error)) : 0;
}

/*
 * The speed of a command of this size relative to one of it->bytes. Both run alone and in turn, and
 * the median of the ratios counts. The commands walk through the whole block, so that no cache
 * holds what they copy.
 */
static cl_int measure_size(struct calibration *it, double bytes, double *ret_ratio)
{
    double ratios[SIZE_REPEAT];

    for (size_t r = 0; r < SIZE_REPEAT; r++) {
        struct measured_route *route = &it->routes[r % it->n_routes];
        double gbps[2] = {0};
        cl_int error = CL_SUCCESS;

        for (int part = 0; part < 2 && !error; part++) {
            bool disturbed;

            route->piece = part ? (size_t)bytes : route->bytes;
            error = measure_together(&it->machine, &route, 1, it->window, &gbps[part], &disturbed);
        }
        route->piece = route->bytes;
        if (error)
            return error;
        ratios[r] = gbps[1] / gbps[0];
    }
    qsort(ratios, SIZE_REPEAT, sizeof *ratios, calibration_compare_double);
    *ret_ratio = fmax(0.01, fmin(100, ratios[SIZE_REPEAT / 2]));
    return CL_SUCCESS;
}

static cl_int add_size(struct calibration *it, size_t at, double bytes)
{
    struct topology_size size = {.bytes = floor(bytes / 4096) * 4096, .ratio = 1};
    cl_int error = size.bytes < (double)it->bytes ? measure_size(it, size.bytes, &size.ratio) : CL_SUCCESS;

    if (error)
        return error;
    memmove(&it->sizes[at + 1], &it->sizes[at], (it->n_sizes - at) * sizeof it->sizes[0]);
    it->sizes[at] = size;
    it->n_sizes++;
    return CL_SUCCESS;
}

int calibration_measure_sizes(struct calibration *it)
{
    const double least = 256 << 10;
    cl_int error = CL_SUCCESS;

    for (double bytes = least; bytes < (double)it->bytes && !error; bytes *= 4)
        error = add_size(it, it->n_sizes, bytes);
    if (!error)
        error = add_size(it, it->n_sizes, (double)it->bytes);
    /*
     * Libraries change their copy method at some size: look for that size where the speed changes.
     */
    for (size_t k = 0; k + 1 < it->n_sizes && !error;) {
        double below = it->sizes[k].bytes;
        double above = it->sizes[k + 1].bytes;
        double change = fabs(log(it->sizes[k + 1].ratio / it->sizes[k].ratio));

        if (change > 0.15 && above > 1.06 * below && above - below >= 8192 && it->n_sizes < MAX_SIZES)
            error = add_size(it, k + 1, sqrt(below * above));
        else
            k++;
    }
    return error ? cli_fail_environment(it->args, -EIO, "a copy failed: %s", opencl_error_name(error)) : 0;
}
