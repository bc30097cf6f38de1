#include "report/axis.h"

#include <math.h>

static void linear_ticks(struct axis *axis, size_t wanted)
{
    double span = axis->high - axis->low;
    double raw = span / (double)wanted;
    double power = pow(10, floor(log10(raw)));
    double step = raw / power <= 1   ? power
                  : raw / power <= 2 ? 2 * power
                  : raw / power <= 5 ? 5 * power
                                     : 10 * power;

    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
    for (double k = 0; axis->n_ticks < AXIS_MAX_TICKS && axis->low + k * step <= axis->high + step * 1e-6;
         k++)
        axis->ticks[axis->n_ticks++] = axis->low + k * step;
}

static void log_ticks(struct axis *axis)
{
    double first = floor(log10(axis->low) + 1e-9);
    double last = ceil(log10(axis->high) - 1e-9);
    double step;

    if (last <= first)
        last = first + 1;
    step = ceil((last - first) / (AXIS_MAX_TICKS - 1));
    axis->low = pow(10, first);
    axis->high = pow(10, last);
    for (double e = first; axis->n_ticks < AXIS_MAX_TICKS && e <= last; e += step)
        axis->ticks[axis->n_ticks++] = pow(10, e);
}

void axis_layout(struct axis *axis, double low, double high, bool log, double from, double to, size_t wanted)
{
    if (!isfinite(low) || !isfinite(high) || low > high) {
        low = log ? 1 : 0;
        high = log ? 10 : 1;
    }
    if (log && low <= 0) {
        low = 1e-9;
        high = high > low ? high : 1;
    }
    if (low == high)
        high = low == 0 ? 1 : low + fabs(low) * 0.1;
    *axis = (struct axis){.low = low, .high = high, .log = log, .from = from, .to = to};
    if (log)
        log_ticks(axis);
    else
        linear_ticks(axis, wanted);
}

double axis_place(const struct axis *axis, double value)
{
    double share;

    if (axis->log)
        share = value > 0 ? log10(value / axis->low) / log10(axis->high / axis->low) : 0;
    else
        share = (value - axis->low) / (axis->high - axis->low);
    return axis->from + fmin(fmax(share, -0.1), 1.1) * (axis->to - axis->from);
}
