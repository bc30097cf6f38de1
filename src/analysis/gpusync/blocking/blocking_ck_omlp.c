#include "analysis/gpusync/blocking/blocking_ck_omlp.h"

#include <math.h>

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/*
 * The longest requests come first, over all clusters at once. The limits per task, per cluster and
 * in total are nested, so the first requests that fit are the worst case.
 */
double ck_omlp_direct(const struct ck_omlp *lock, size_t i, double requests, double shares[])
{
    double left = requests * lock->ahead;
    double sum = 0;
    size_t k = 0;

    for (; left > 0 && k < lock->n; k++) {
        uint32_t j = lock->by_length[k];
        uint32_t x = lock->cluster[j];
        double room = requests * (lock->cpus - (x == lock->cluster[i] ? 1 : 0)) - lock->taken[x];
        double take;

        if (j == i)
            continue;
        take = ceil((lock->horizon[i] + lock->r[j]) / lock->period[j]) *
               (lock->requests ? lock->requests[j] : 1);
        take = smaller(smaller(take, requests), smaller(room, left));
        lock->taken[x] += take;
        left -= take;
        sum += take * lock->length[j];
        if (shares)
            shares[j] += take * lock->length[j];
    }
    while (k > 0)
        lock->taken[lock->cluster[lock->by_length[--k]]] = 0;
    return sum;
}

double ck_omlp_donation(const uint32_t tasks[], size_t n, size_t i, const double point[], const double span[])
{
    double longest = 0;

    for (size_t k = 0; k < n; k++) {
        size_t j = tasks[k];

        if (j != i && point[j] >= point[i] && span[j] > longest)
            longest = span[j];
    }
    return longest;
}
