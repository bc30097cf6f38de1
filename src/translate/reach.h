/*
 * Which elements of a buffer each work-group of a kernel reaches, and whether two groups of a
 * launch can reach the same one. Groups may run on different devices, each with a copy of a buffer
 * that the kernel reads and writes, only if they cannot. Otherwise one group would miss what
 * another group stored.
 *
 * The translator (tool/analyse_own.c) reads every access to the buffer as
 *
 *   element = a value that is equal for all work-items + each_0 * digit_0 + each_1 * digit_1 + ...
 *
 * A digit is an id of the launch, or a value that the work-item counts through. `each` and the
 * number of values of a digit are products of numbers, kernel arguments and sizes of the launch. So
 * the question is answered per launch, when all of these are known. As in a positional number
 * system, the elements of different digits differ if each_k > the sum of each_j * (room_j - 1) over
 * all digits below k.
 *
 * Pure, no allocation.
 */
#ifndef TRANSLATE_REACH_H
#define TRANSLATE_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "translate/piece.h"

enum { REACH_FACTORS = 3, REACH_DIGITS = 6 };

enum reach_factor_kind {
    REACH_ARGUMENT,    /* `of`: index of a kernel argument of 4 or 8 bytes */
    REACH_GLOBAL_SIZE, /* `of`: a dimension; so for the two below */
    REACH_LOCAL_SIZE,
    REACH_GROUPS,
    REACH_FACTOR_KINDS
};

struct reach_factor {
    uint8_t kind; /* enum reach_factor_kind */
    uint16_t of;
};

struct reach_product {
    uint32_t number; /* at least 1 */
    uint32_t n;
    struct reach_factor factors[REACH_FACTORS]; /* sorted by kind, then by `of` */
};

enum reach_kind {
    REACH_GLOBAL_ID, /* of dimension `dim`; so for the kinds below */
    REACH_GROUP_ID,
    REACH_LINEAR_ID, /* get_global_linear_id() */
    REACH_QUOTIENT,  /* global id of `dim` / room */
    REACH_REST,      /* global id of `dim` % room */
    REACH_LOCAL_ID,
    REACH_COUNTED, /* 0 .. room - 1, in any order */
    REACH_ENDLESS, /* 0 .. an unknown limit */
    REACH_KINDS
};

struct reach_digit {
    uint8_t kind; /* enum reach_kind */
    uint8_t dim;
    struct reach_product each;
    struct reach_product room; /* of REACH_COUNTED, REACH_QUOTIENT and REACH_REST */
};

/* n == 0: unknown. */
struct reach {
    uint32_t n;
    struct reach_digit digits[REACH_DIGITS];
};

bool reach_same_factors(const struct reach_factor *a, uint32_t n_a, const struct reach_factor *b,
                        uint32_t n_b);
bool reach_same_product(const struct reach_product *a, const struct reach_product *b);

/* The value of an integer argument of the launch, as unsigned. False: there is no such value. */
typedef bool (*reach_value)(void *user, uint32_t argument, uint64_t *ret_value);

/*
 * Do different groups of this launch reach different elements? False in doubt; true for a launch of
 * one group.
 */
bool reach_apart(const struct reach *reach, const struct piece_launch *launch, reach_value value, void *user);

#endif
