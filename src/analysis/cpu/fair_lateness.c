#include "analysis/cpu/fair_lateness.h"

#include <math.h>

/* Computes sum U and Y, and whether a bound exists at all. */
static int measure(struct fair_lateness *cluster, double *ret_lowest)
{
    double share = (double)(cluster->cpus - 1) / cluster->cpus;
    double total = 0;
    double lowest = INFINITY;
    int too_long = 0;

    for (size_t i = 0; i < cluster->n; i++) {
        double cost = cluster->cost[i];
        double point = cluster->deadline[i] - share * cost;

        cluster->utilisation[i] = cost / cluster->period[i];
        cluster->point[i] = point;
        total += cluster->utilisation[i];
        lowest = point < lowest ? point : lowest;
        too_long |= cost > cluster->period[i];
    }
    cluster->total = total;
    *ret_lowest = lowest;
    if (total > cluster->cpus + FAIR_LATENESS_TOLERANCE)
        return FAIR_LATENESS_OVERUTILISED;
    return too_long ? FAIR_LATENESS_TOO_LONG : FAIR_LATENESS_BOUNDED;
}

/*
 * Sums of slope and utilisation over the `take` largest slope[i] + utilisation[i] * s. Each
 * candidate replaces the smallest value kept, so a pass is O(n) for the few CPUs of a cluster.
 */
static void largest(const struct fair_lateness *cluster, size_t take, double s, double *ret_slopes,
                    double *ret_utilisations)
{
    double *key = cluster->key;
    size_t *chosen = cluster->chosen;
    double slopes = 0;
    double utilisations = 0;
    size_t smallest = 0;

    for (size_t i = 0; i < take; i++) {
        key[i] = cluster->slope[i] + cluster->utilisation[i] * s;
        chosen[i] = i;
        smallest = key[i] < key[smallest] ? i : smallest;
    }
    for (size_t i = take; i < cluster->n; i++) {
        double value = cluster->slope[i] + cluster->utilisation[i] * s;

        if (value <= key[smallest])
            continue;
        key[smallest] = value;
        chosen[smallest] = i;
        for (size_t k = 0; k < take; k++)
            smallest = key[k] < key[smallest] ? k : smallest;
    }
    for (size_t k = 0; k < take; k++) {
        slopes += cluster->slope[chosen[k]];
        utilisations += cluster->utilisation[chosen[k]];
    }
    *ret_slopes = slopes;
    *ret_utilisations = utilisations;
}

/*
 * M is the maximum of finitely many lines with negative slope, so M is convex and decreasing.
 * Newton's method from the left therefore reaches the root exactly. It takes one step per different
 * choice of the largest terms.
 */
static double root(const struct fair_lateness *cluster, double base)
{
    double whole = ceil(cluster->total - FAIR_LATENESS_TOLERANCE);
    size_t take = whole > 1 ? (size_t)whole - 1 : 0;
    double s = 0;

    take = take < cluster->n ? take : cluster->n;
    if (take == 0)
        return base / cluster->cpus;
    for (;;) {
        double slopes;
        double utilisations;
        double next;

        largest(cluster, take, s, &slopes, &utilisations);
        next = (base + slopes) / (cluster->cpus - utilisations);
        if (next <= s)
            return s;
        s = next;
    }
}

int fair_lateness_decide(struct fair_lateness *cluster)
{
    double lowest;
    double base = 0;
    int answer = measure(cluster, &lowest);

    cluster->s = 0;
    if (answer != FAIR_LATENESS_BOUNDED || cluster->n == 0)
        return answer;
    for (size_t i = 0; i < cluster->n; i++) {
        double cost = cluster->cost[i];
        double ahead = cluster->point[i] - lowest;
        double carried = cost * (1 - ahead / cluster->period[i]);

        carried = carried > 0 ? carried : 0;
        base += carried;
        cluster->slope[i] = cost - cluster->utilisation[i] * cost / cluster->cpus - carried;
    }
    cluster->s = root(cluster, base);
    return FAIR_LATENESS_BOUNDED;
}

int fair_lateness_bound(struct fair_lateness *cluster)
{
    int answer = fair_lateness_decide(cluster);
    double lowest = INFINITY;

    if (answer != FAIR_LATENESS_BOUNDED)
        return answer;
    for (size_t i = 0; i < cluster->n; i++)
        lowest = cluster->point[i] < lowest ? cluster->point[i] : lowest;
    for (size_t i = 0; i < cluster->n; i++) {
        double x = cluster->s - cluster->cost[i] / cluster->cpus;

        cluster->response[i] = cluster->point[i] - lowest + (x > 0 ? x : 0) + cluster->cost[i];
    }
    return FAIR_LATENESS_BOUNDED;
}

void fair_lateness_parts(const struct fair_lateness *cluster, size_t i, size_t *ret_earliest,
                         double *ret_ahead, double ret_parts[])
{
    double whole = ceil(cluster->total - FAIR_LATENESS_TOLERANCE);
    size_t take = whole > 1 ? (size_t)whole - 1 : 0;
    double wait = cluster->s - cluster->cost[i] / cluster->cpus;
    size_t earliest = 0;
    double sum = 0;

    take = take < cluster->n ? take : cluster->n;
    for (size_t k = 0; k < cluster->n; k++) {
        earliest = cluster->point[k] < cluster->point[earliest] ? k : earliest;
        ret_parts[k] =
            cluster->cost[k] - cluster->utilisation[k] * cluster->cost[k] / cluster->cpus - cluster->slope[k];
    }
    for (size_t k = 0; k < take; k++)
        ret_parts[cluster->chosen[k]] += cluster->slope[cluster->chosen[k]];
    ret_parts[i] = 0;
    for (size_t k = 0; k < cluster->n; k++)
        sum += ret_parts[k];
    for (size_t k = 0; k < cluster->n; k++)
        ret_parts[k] = wait > 0 && sum > 0 ? ret_parts[k] / sum * wait : 0;
    *ret_earliest = earliest;
    *ret_ahead = cluster->point[i] - cluster->point[earliest];
}
