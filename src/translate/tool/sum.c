#include "translate/tool/sum.h"

#include <string.h>

static bool same_digit(const struct reach_digit *a, const struct reach_digit *b)
{
    return a->kind == b->kind && a->dim == b->dim && reach_same_product(&a->room, &b->room);
}

bool sum_same_kind(const struct term *a, const struct term *b)
{
    return reach_same_factors(a->factors, a->n, b->factors, b->n) && a->has_digit == b->has_digit &&
           (!a->has_digit || same_digit(&a->digit, &b->digit));
}

/*
 * Digits that a work-item counts through are independent, even if they look alike; digits of the
 * same id are one value.
 */
static bool is_counted(const struct term *term)
{
    return term->has_digit && (term->digit.kind == REACH_COUNTED || term->digit.kind == REACH_ENDLESS);
}

bool sum_add_term(struct sum *sum, struct term term)
{
    for (uint32_t i = 0; i < sum->n; i++) {
        if (is_counted(&term) || !sum_same_kind(&sum->terms[i], &term))
            continue;
        if (__builtin_add_overflow(sum->terms[i].number, term.number, &sum->terms[i].number))
            return false;
        if (sum->terms[i].number == 0)
            sum->terms[i] = sum->terms[--sum->n];
        return true;
    }
    if (term.number == 0)
        return true;
    if (sum->n == SUM_TERMS)
        return false;
    sum->terms[sum->n++] = term;
    return true;
}

bool sum_add(struct sum *sum, const struct sum *more, int64_t times)
{
    for (size_t i = 0; i < more->n; i++) {
        struct term term = more->terms[i];

        if (__builtin_mul_overflow(term.number, times, &term.number) || !sum_add_term(sum, term))
            return false;
    }
    return true;
}

bool sum_add_factor(struct term *term, struct reach_factor factor)
{
    uint32_t i = term->n;

    if (term->n == REACH_FACTORS)
        return false;
    for (; i > 0 && (term->factors[i - 1].kind > factor.kind ||
                     (term->factors[i - 1].kind == factor.kind && term->factors[i - 1].of > factor.of));
         i--)
        term->factors[i] = term->factors[i - 1];
    term->factors[i] = factor;
    term->n++;
    return true;
}

bool sum_multiply(const struct sum *a, const struct sum *b, struct sum *ret_sum)
{
    struct sum sum = {0};

    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            struct term term = a->terms[i];
            const struct term *with = &b->terms[k];

            if ((term.has_digit && with->has_digit) ||
                __builtin_mul_overflow(term.number, with->number, &term.number))
                return false;
            for (uint32_t f = 0; f < with->n; f++)
                if (!sum_add_factor(&term, with->factors[f]))
                    return false;
            if (with->has_digit) {
                term.has_digit = true;
                term.digit = with->digit;
            }
            if (!sum_add_term(&sum, term))
                return false;
        }
    *ret_sum = sum;
    return true;
}

bool sum_as_product(const struct sum *sum, struct reach_product *ret_product)
{
    const struct term *term = &sum->terms[0];

    if (sum->n != 1 || term->has_digit || term->number < 1 || term->number > INT32_MAX)
        return false;
    *ret_product = (struct reach_product){.number = (uint32_t)term->number, .n = term->n};
    memcpy(ret_product->factors, term->factors, sizeof term->factors);
    return true;
}

struct sum sum_of_digit(enum reach_kind kind, uint8_t dim, const struct reach_product *room)
{
    struct sum sum = {.n = 1};

    sum.terms[0] = (struct term){
        .number = 1, .has_digit = true, .digit = {.kind = (uint8_t)kind, .dim = dim, .room = *room}};
    return sum;
}
