/*
 * Prices of options: Black and Scholes' formula, and the binomial tree of Cox, Ross and Rubinstein.
 */
#include "workload.h"

#include <math.h>

enum { GROUP = 64 };

/* ---- black-scholes: call and put of each option ---- */

enum { PRICES, STRIKES, YEARS, CALLS, PUTS };

static const double rate = 0.02;
static const double volatility = 0.3;

static void scholes_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);
    size_t bytes = n * sizeof(float);

    work_buffer(work, PRICES, work_floats(work, n, 5, 30), NULL, bytes);
    work_buffer(work, STRIKES, work_floats(work, n, 1, 100), NULL, bytes);
    work_buffer(work, YEARS, work_floats(work, n, 0.25, 10), NULL, bytes);
    work_buffer(work, CALLS, NULL, work_array(work, bytes), bytes);
    work_buffer(work, PUTS, NULL, work_array(work, bytes), bytes);
}

static void scholes_run(struct work *work)
{
    LAUNCH(work, "black_scholes", SHAPE1(work->size, GROUP), BUFFER(PRICES), BUFFER(STRIKES), BUFFER(YEARS),
           BUFFER(CALLS), BUFFER(PUTS), FLOAT(rate), FLOAT(volatility));
}

/* With the error function instead of the kernel's polynomial. */
static bool scholes_check(const struct work *work)
{
    const float *prices = work->buffers[PRICES].in;
    const float *strikes = work->buffers[STRIKES].in;
    const float *years = work->buffers[YEARS].in;
    const float *calls = work->buffers[CALLS].out;
    const float *puts = work->buffers[PUTS].out;

    for (size_t i = 0; i < work->size; i++) {
        double s = (double)prices[i];
        double x = (double)strikes[i];
        double t = (double)years[i];
        double d1 = (log(s / x) + (rate + volatility * volatility / 2) * t) / (volatility * sqrt(t));
        double d2 = d1 - volatility * sqrt(t);
        double call = s * 0.5 * erfc(-d1 * sqrt(0.5)) - x * exp(-rate * t) * 0.5 * erfc(-d2 * sqrt(0.5));
        double put = call - s + x * exp(-rate * t);
        if (!(fabs(call - (double)calls[i]) <= 1e-3) || !(fabs(put - (double)puts[i]) <= 1e-3))
            return check_failed(work, "option %zu is %g and %g, not %g and %g", i, (double)calls[i],
                                (double)puts[i], call, put);
    }
    return true;
}

const struct workload workload_black_scholes = {
    .name = "black-scholes",
    .row = "BlackScholes",
    .unit = "options",
    .sizes = {8192, 1 << 17, 1 << 20},
    .source = OPENCL(
        float below(float d) {
            float k = 1 / (1 + 0.2316419f * fabs(d));
            float tail =
                0.39894228f * exp(-0.5f * d * d) *
                (k * (0.31938153f +
                      k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
            return d > 0 ? 1 - tail : tail;
        }

        kernel void black_scholes(global const float *prices, global const float *strikes,
                                  global const float *years, global float *calls, global float *puts,
                                  float rate, float volatility) {
            size_t i = get_global_id(0);
            float s = prices[i];
            float x = strikes[i];
            float t = years[i];
            float root = sqrt(t);
            float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
            float d2 = d1 - volatility * root;
            float discounted = x * exp(-rate * t);
            calls[i] = s * below(d1) - discounted * below(d2);
            puts[i] = discounted * (1 - below(d2)) - s * (1 - below(d1));
        }),
    .prepare = scholes_prepare,
    .run = scholes_run,
    .check = scholes_check,
};

/* ---- binomial: one group per option walks its tree back from 127 steps ---- */

enum { VALUES = 1 };
enum { STEPS = 127 };

static void binomial_prepare(struct work *work)
{
    size_t n = work->size;

    work_buffer(work, PRICES, work_floats(work, n, 5, 30), NULL, n * sizeof(float));
    work_buffer(work, VALUES, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
}

struct tree {
    double up, rise, fall; /* factor of one step; discounted chances */
};

/* Of an option at the money's half, a year long (Cox, Ross and Rubinstein). */
static struct tree binomial_tree(void)
{
    double step = 1.0 / STEPS;
    double up = exp(volatility * sqrt(step));
    double chance = (exp(rate * step) - 1 / up) / (up - 1 / up);

    return (struct tree){up, chance * exp(-rate * step), (1 - chance) * exp(-rate * step)};
}

static void binomial_run(struct work *work)
{
    struct tree tree = binomial_tree();

    LAUNCH(work, "binomial", SHAPE1(work->size * (STEPS + 1), STEPS + 1), BUFFER(PRICES), BUFFER(VALUES),
           FLOAT(log(tree.up)), FLOAT(tree.rise), FLOAT(tree.fall), FLOAT(15));
}

static bool binomial_check(const struct work *work)
{
    const float *prices = work->buffers[PRICES].in;
    const float *got = work->buffers[VALUES].out;
    struct tree tree = binomial_tree();

    for (size_t i = 0; i < work->size; i++) {
        double values[STEPS + 1];
        for (int j = 0; j <= STEPS; j++) {
            double end = (double)prices[i] * pow(tree.up, 2 * j - STEPS);
            values[j] = end > 15 ? end - 15 : 0;
        }
        for (int step = STEPS; step > 0; step--)
            for (int j = 0; j < step; j++)
                values[j] = tree.rise * values[j + 1] + tree.fall * values[j];
        if (!(fabs(values[0] - (double)got[i]) <= 1e-3))
            return check_failed(work, "option %zu is %g, not %g", i, (double)got[i], values[0]);
    }
    return true;
}

const struct workload workload_binomial = {
    .name = "binomial",
    .row = "BinomialOption",
    .unit = "options",
    .sizes = {32, 256, 2048},
    .source = OPENCL(kernel __attribute__((reqd_work_group_size(128, 1, 1))) void binomial(
        global const float *prices, global float *values, float log_up, float rise, float fall,
        float strike) {
        local float now[128];
        local float before[128];
        int l = get_local_id(0);
        now[l] = max(prices[get_group_id(0)] * exp(log_up * (2 * l - 127)) - strike, 0.0f);
        for (int step = 127; step > 0; step -= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < step)
                before[l] = rise * now[l + 1] + fall * now[l];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < step - 1)
                now[l] = rise * before[l + 1] + fall * before[l];
        }
        if (l == 0)
            values[get_group_id(0)] = before[0];
    }),
    .prepare = binomial_prepare,
    .run = binomial_run,
    .check = binomial_check,
};
