#include "layer/spread/decide.h"

#include <stdlib.h>
#include <string.h>

#define FADING        0.9
#define UNKNOWN_SPEED 4.0  /* bytes per ns, before anything was moved */
#define GAIN          0.97 /* several must be better by this much */
#define HOPELESS      1.5

void line_add(struct line *line, double x, double y)
{
    line->n = line->n * FADING + 1;
    line->x = line->x * FADING + x;
    line->y = line->y * FADING + y;
    line->xx = line->xx * FADING + x * x;
    line->xy = line->xy * FADING + x * y;
}

double line_at(const struct line *line, double x)
{
    double spread = line->n * line->xx - line->x * line->x;
    double slope, at;

    if (line->n <= 0)
        return x / UNKNOWN_SPEED;
    if (spread <= 1e-9 * line->n * line->xx)
        return line->x > 0 ? x * line->y / line->x : line->y / line->n;
    slope = (line->n * line->xy - line->x * line->y) / spread;
    at = (line->y - slope * line->x) / line->n + slope * x;
    return at > 0 ? at : 0;
}

void samples_add(struct samples *samples, size_t items, int64_t ns)
{
    samples->per_item[samples->n++ % DECIDE_SAMPLES] = (double)ns / (double)(items ? items : 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double samples_median(const struct samples *samples)
{
    double sorted[DECIDE_SAMPLES];
    unsigned n = samples->n < DECIDE_SAMPLES ? samples->n : DECIDE_SAMPLES;

    if (n == 0)
        return 0;
    memcpy(sorted, samples->per_item, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void decide_ran_alone(struct decision *decision, size_t items, int64_t ns)
{
    samples_add(&decision->one, items, ns);
    decision->rest -= decision->rest > 0;
}

bool decide_worth_it(const struct decision *decision, size_t items)
{
    return !decision->never && !decision->rest && decision->one.n >= DECIDE_KNOWN &&
           samples_median(&decision->one) * (double)items >= DECIDE_LEAST;
}

bool decide_split(struct decision *decision, const struct decision_costs *costs,
                  const struct decision_case *launch)
{
    double one = samples_median(&decision->one) * (double)launch->items;
    double several = samples_median(&decision->several) * (double)launch->items;
    double promised;
    bool hopeful;

    if (launch->devices < 2 || !decide_worth_it(decision, launch->items))
        return false;
    decision->n_asked++;
    promised = one / launch->devices + line_at(&costs->move, (double)launch->move_bytes) +
               line_at(&costs->merge, (double)launch->merge_bytes);
    hopeful = promised < GAIN * one;
    if (decision->several.n >= DECIDE_TRIALS) {
        if (several < GAIN * one)
            return decision->n_asked % DECIDE_AGAIN != 0;
        hopeful = several < HOPELESS * one || promised < GAIN * one / 2;
        decision->rest = DECIDE_AGAIN;
    } else if (!hopeful) { /* the first split pays for copies that later ones find in place: several trials */
        decision->rest = DECIDE_AGAIN;
    }
    return hopeful;
}
