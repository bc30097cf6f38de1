#include "spread/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int power_of(size_t size)
{
    return size ? ilogb((double)size) : 0;
}

static const struct growth_size *find(const struct growth *growth, size_t size)
{
    for (unsigned i = 0; i < growth->n; i++)
        if (growth->sizes[i].power == power_of(size))
            return &growth->sizes[i];
    return NULL;
}

static struct growth_size *find_or_make(struct growth *growth, size_t size)
{
    struct growth_size *place = (struct growth_size *)find(growth, size);

    if (place)
        return place;
    if (growth->n < GROWTH_SIZES) {
        place = &growth->sizes[growth->n++];
    } else {
        place = &growth->sizes[0];
        for (unsigned i = 1; i < GROWTH_SIZES; i++)
            if (growth->sizes[i].used < place->used)
                place = &growth->sizes[i];
    }
    *place = (struct growth_size){.power = power_of(size)};
    return place;
}

void growth_add(struct growth *growth, size_t size, double ns)
{
    struct growth_size *place = find_or_make(growth, size);

    place->size = (double)(size ? size : 1);
    place->per[place->n++ % GROWTH_LATEST] = ns / place->size;
    place->used = ++growth->turn;
}

unsigned growth_known(const struct growth *growth, size_t size)
{
    const struct growth_size *place = find(growth, size);

    return place ? place->n : 0;
}

double growth_latest(const struct growth *growth, size_t size)
{
    const struct growth_size *place = find(growth, size);

    return place ? place->per[(place->n - 1) % GROWTH_LATEST] * (double)size : -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_per(const struct growth_size *place)
{
    unsigned n = place->n < GROWTH_LATEST ? place->n : GROWTH_LATEST;
    double sorted[GROWTH_LATEST];

    memcpy(sorted, place->per, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/*
 * Minimises sum ((fixed + per x - y) / y)^2. With u = 1 / y and v = x / y that is sum (fixed u +
 * per v - 1)^2, whose normal equations are two by two.
 */
bool growth_line(const struct growth *growth, double *ret_fixed, double *ret_per)
{
    double uu = 0, uv = 0, vv = 0, u_sum = 0, v_sum = 0, determinant;

    *ret_fixed = *ret_per = 0;
    for (unsigned i = 0; i < growth->n; i++) {
        double x = growth->sizes[i].size, y = median_per(&growth->sizes[i]) * x;
        double u = 1 / (y > 1 ? y : 1), v = x * u;

        uu += u * u;
        uv += u * v;
        vv += v * v;
        u_sum += u;
        v_sum += v;
    }
    if (growth->n == 0)
        return false;
    determinant = uu * vv - uv * uv;
    *ret_per = v_sum / vv; /* through the origin */
    if (growth->n == 1 || determinant <= 1e-9 * uu * vv)
        return true;
    *ret_fixed = (u_sum * vv - v_sum * uv) / determinant;
    if (*ret_fixed < 0) {
        *ret_fixed = 0;
        return true;
    }
    *ret_per = (v_sum * uu - u_sum * uv) / determinant;
    if (*ret_per < 0) { /* constant */
        *ret_per = 0;
        *ret_fixed = u_sum / uu;
    }
    return true;
}

double growth_at(const struct growth *growth, size_t size)
{
    const struct growth_size *place = find(growth, size);
    double fixed, per, line;

    if (!growth_line(growth, &fixed, &per))
        return -1;
    line = fixed + per * (double)size;
    if (place && place->n >= GROWTH_ENOUGH) /* takes its level from the median and its slope from the line */
        line *= median_per(place) * place->size / (fixed + per * place->size);
    return line;
}
