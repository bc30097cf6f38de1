#include "spread/shares.h"

#include <assert.h>

uint32_t shares_grain(uint32_t n_groups, unsigned n, uint32_t wanted)
{
    return wanted == 0 || n_groups / n < 16 * wanted ? 1 : wanted;
}

void shares_divide(uint32_t n_groups, const double rates[], unsigned n, uint32_t grain, uint32_t ret_ends[])
{
    double known = 0, total = 0, sum = 0;
    unsigned n_known = 0;

    assert(n > 0);
    for (unsigned i = 0; i < n; i++)
        if (rates[i] > 0) {
            known += rates[i];
            n_known++;
        }
    for (unsigned i = 0; i < n; i++)
        total += rates[i] > 0 ? rates[i] : n_known ? known / n_known : 1;
    for (unsigned i = 0; i < n; i++) {
        double at;

        sum += rates[i] > 0 ? rates[i] : n_known ? known / n_known : 1;
        at = (double)n_groups * (sum / total);
        ret_ends[i] = (uint32_t)(at / grain + 0.5) * grain;
        if (ret_ends[i] > n_groups || i + 1 == n)
            ret_ends[i] = n_groups;
    }
}

double shares_rate(double old, uint32_t groups, int64_t ns)
{
    double fresh = (double)groups / (double)(ns > 0 ? ns : 1);

    return old > 0 ? (old + fresh) / 2 : fresh;
}
