/*
 * Sums of products, in which analyse_own.c expresses the index of an access: number * factors *
 * digit, with the factors and digits of translate/reach.h. Pure. A function answers false if the
 * result does not fit; its output is then undefined.
 */
#ifndef TRANSLATE_TOOL_SUM_H
#define TRANSLATE_TOOL_SUM_H

#include "translate/reach.h"

enum { SUM_TERMS = 12 };

struct term {
    int64_t number;
    uint32_t n;
    struct reach_factor factors[REACH_FACTORS]; /* sorted by kind, then by `of` */
    bool has_digit;
    struct reach_digit digit; /* `each` is not used */
};

struct sum {
    uint32_t n;
    /* no number is 0; no two terms are of one kind, except those that count */
    struct term terms[SUM_TERMS];
};

/* Equal except for the number. */
bool sum_same_kind(const struct term *a, const struct term *b);

bool sum_add_term(struct sum *sum, struct term term);
bool sum_add(struct sum *sum, const struct sum *more, int64_t times);
bool sum_add_factor(struct term *term, struct reach_factor factor);

/* Two digits have no product. */
bool sum_multiply(const struct sum *a, const struct sum *b, struct sum *ret_sum);

/* The sum is one positive product without a digit. */
bool sum_as_product(const struct sum *sum, struct reach_product *ret_product);

/* 1 * digit. room: of REACH_COUNTED. */
struct sum sum_of_digit(enum reach_kind kind, uint8_t dim, const struct reach_product *room);

#endif
