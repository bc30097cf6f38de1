#include "translate/reach.h"

#include <stddef.h>

/*
 * Many kernels number elements in 32 bits, so nothing is proved for launches that could overflow
 * them.
 */
#define MOST ((uint64_t)INT32_MAX)

bool reach_same_factors(const struct reach_factor *a, uint32_t n_a, const struct reach_factor *b,
                        uint32_t n_b)
{
    for (uint32_t i = 0; i < n_a && i < n_b; i++)
        if (a[i].kind != b[i].kind || a[i].of != b[i].of)
            return false;
    return n_a == n_b;
}

bool reach_same_product(const struct reach_product *a, const struct reach_product *b)
{
    return a->number == b->number && reach_same_factors(a->factors, a->n, b->factors, b->n);
}

struct measured {
    uint64_t each;
    uint64_t room; /* 0: no limit is known */
};

static uint64_t size_of(const struct piece_launch *launch, enum reach_factor_kind kind, uint32_t dim)
{
    if (dim >= launch->work_dim)
        return 1;
    if (kind == REACH_GLOBAL_SIZE)
        return launch->global[dim];
    if (kind == REACH_LOCAL_SIZE)
        return launch->local[dim];
    return launch->local[dim] ? launch->global[dim] / launch->local[dim] : 0;
}

/* 0: not known, or too large. */
static uint64_t evaluate(const struct reach_product *product, const struct piece_launch *launch,
                         reach_value value, void *user)
{
    uint64_t result = product->number;

    for (uint32_t i = 0; i < product->n; i++) {
        const struct reach_factor *factor = &product->factors[i];
        uint64_t with = 0;

        if (factor->kind != REACH_ARGUMENT)
            with = size_of(launch, (enum reach_factor_kind)factor->kind, factor->of);
        else if (!value(user, factor->of, &with))
            return 0;
        if (with > MOST || __builtin_mul_overflow(result, with, &result) || result > MOST)
            return 0;
    }
    return result;
}

static uint64_t room_of(const struct reach_digit *digit, const struct piece_launch *launch, reach_value value,
                        void *user)
{
    uint64_t all = 1;

    switch ((enum reach_kind)digit->kind) {
    case REACH_GLOBAL_ID:
        return size_of(launch, REACH_GLOBAL_SIZE, digit->dim);
    case REACH_GROUP_ID:
        return size_of(launch, REACH_GROUPS, digit->dim);
    case REACH_LOCAL_ID:
        return size_of(launch, REACH_LOCAL_SIZE, digit->dim);
    case REACH_LINEAR_ID:
        for (uint32_t d = 0; d < launch->work_dim; d++)
            if (__builtin_mul_overflow(all, launch->global[d], &all))
                return 0;
        return all;
    case REACH_QUOTIENT: /* from offset / room to (offset + size - 1) / room */
        all = evaluate(&digit->room, launch, value, user);
        if (!all || digit->dim >= launch->work_dim)
            return all ? 1 : 0;
        return (launch->offset[digit->dim] + launch->global[digit->dim] - 1) / all -
               launch->offset[digit->dim] / all + 1;
    case REACH_REST:
    case REACH_COUNTED:
        return evaluate(&digit->room, launch, value, user);
    default:
        return 0;
    }
}

/* A quotient distinguishes groups only together with the rest of the same division. */
static bool has_rest(const struct reach *reach, const struct reach_digit *quotient)
{
    for (uint32_t i = 0; i < reach->n; i++) {
        const struct reach_digit *rest = &reach->digits[i];

        if (rest->kind == REACH_REST && rest->dim == quotient->dim &&
            reach_same_product(&rest->room, &quotient->room))
            return true;
    }
    return false;
}

/* Does every dimension with several groups have a digit that differs between them? */
static bool tells_groups(const struct reach *reach, const struct piece_launch *launch)
{
    for (uint32_t d = 0; d < launch->work_dim; d++) {
        bool told = size_of(launch, REACH_GROUPS, d) == 1;

        for (uint32_t i = 0; i < reach->n; i++) {
            const struct reach_digit *digit = &reach->digits[i];

            told |= digit->kind == REACH_LINEAR_ID ||
                    (digit->dim == d && (digit->kind == REACH_GLOBAL_ID || digit->kind == REACH_GROUP_ID ||
                                         (digit->kind == REACH_QUOTIENT && has_rest(reach, digit))));
        }
        if (!told)
            return false;
    }
    return true;
}

static void insert(struct measured *list, uint32_t n, struct measured digit)
{
    for (; n > 0 && list[n - 1].each > digit.each; n--)
        list[n] = list[n - 1];
    list[n] = digit;
}

bool reach_apart(const struct reach *reach, const struct piece_launch *launch, reach_value value, void *user)
{
    struct measured list[REACH_DIGITS];
    uint64_t span = 1; /* elements that the digits so far cover */
    uint32_t n = 0;

    if (!tells_groups(reach, launch))
        return false;
    for (uint32_t i = 0; i < reach->n; i++) {
        const struct reach_digit *digit = &reach->digits[i];
        struct measured measured = {evaluate(&digit->each, launch, value, user),
                                    room_of(digit, launch, value, user)};

        if (measured.room == 1)
            continue;
        if (!measured.each || (!measured.room && digit->kind != REACH_ENDLESS))
            return false;
        insert(list, n++, measured);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].each < span || (!list[i].room && i + 1 < n))
            return false;
        if (list[i].room && (list[i].room > MOST || list[i].each > MOST / list[i].room))
            return false;
        span += list[i].room ? list[i].each * (list[i].room - 1) : 0;
    }
    return span <= MOST;
}
