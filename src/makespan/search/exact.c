#include "makespan/search/exact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "makespan/warp_step.h"

#define ENTERED_PER_CLOCK_CHECK 1024
#define BOUND_BITS              16
#define PREFETCH                8 /* memo entries to ask for ahead: each is a cache miss */
#define FIRST_MEMO              (UINT64_C(1) << 12)

_Static_assert(STATE_NUMBER_BITS + BOUND_BITS == 64, "a memo entry is one word");

/* A successor still to be tried; value: the table's bound on the cycles after it. */
struct choice {
    state_id state;
    unsigned value;
};

struct exact {
    const struct relax *relax;       /* borrowed */
    const struct state_space *space; /* borrowed */
    const struct problem *problem;   /* borrowed */
    uint64_t *memo;                  /* owned; (state + 1) << 16 | bound, 0: empty */
    uint64_t memo_size, memo_used;   /* size: a power of two */
    struct choice *choices;          /* owned; a stack, one stretch per level */
    size_t n_choices, choices_room;
    size_t memory;
    uint64_t entered, enter_most;
    baton_nsec until_at;
    uint8_t *count; /* owned; of the state being expanded */
    /*
     * Owned; warps further on in the same segment, those before its last instruction not counted.
     */
    uint8_t *behind;
    int stopped; /* the answer that ends the search, or 0 */
};

/* One state being expanded. */
struct expansion {
    struct exact *exact;
    uint8_t *count; /* n */
    unsigned k[RELAX_MAX_SEGMENTS], w[RELAX_MAX_SEGMENTS];
    unsigned later[RELAX_MAX_SEGMENTS]; /* warps in later segments on the same unit */
    unsigned execute[RELAX_MAX_SEGMENTS], leave[RELAX_MAX_SEGMENTS];
    unsigned need; /* cycles a successor must still allow */
    unsigned value;
};

static uint64_t memo_slot(const struct exact *exact, state_id state)
{
    return (state * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & (exact->memo_size - 1);
}

/* What is known: at most this many cycles follow the state; UINT_MAX: nothing. */
static unsigned memo_bound(const struct exact *exact, state_id state)
{
    uint64_t at = memo_slot(exact, state);

    for (; exact->memo[at]; at = (at + 1) & (exact->memo_size - 1)) {
        if (exact->memo[at] >> BOUND_BITS == state + 1)
            return exact->memo[at] & ((1u << BOUND_BITS) - 1);
    }
    return UINT32_MAX;
}

static void memo_put(struct exact *exact, uint64_t entry)
{
    uint64_t at = memo_slot(exact, (entry >> BOUND_BITS) - 1);

    while (exact->memo[at] && exact->memo[at] >> BOUND_BITS != entry >> BOUND_BITS)
        at = (at + 1) & (exact->memo_size - 1);
    exact->memo_used += exact->memo[at] == 0;
    exact->memo[at] = entry;
}

/* Doubles the memo, or lets it fill to 15/16 when the memory does not allow that. */
static int memo_make_room(struct exact *exact)
{
    uint64_t *old = exact->memo;
    uint64_t old_size = exact->memo_size;
    size_t choices = exact->choices_room * sizeof exact->choices[0];

    if (exact->memo_used < old_size / 4 * 3)
        return 0;
    /* While it is copied, the old one exists too. */
    if (old_size * 3 * sizeof old[0] + choices > exact->memory)
        return exact->memo_used < old_size / 16 * 15 ? 0 : EXACT_OUT_OF_MEMORY;
    exact->memo = calloc(old_size * 2, sizeof old[0]);
    if (!exact->memo) {
        exact->memo = old;
        return EXACT_OUT_OF_MEMORY;
    }
    exact->memo_size = old_size * 2;
    exact->memo_used = 0;
    for (uint64_t i = 0; i < old_size; i++) {
        if (old[i])
            memo_put(exact, old[i]);
    }
    free(old);
    return 0;
}

static void push(struct exact *exact, state_id state, unsigned value)
{
    if (exact->n_choices == exact->choices_room) {
        size_t room = exact->choices_room * 2;
        size_t bytes = room * sizeof exact->choices[0];
        struct choice *choices = NULL;

        if (bytes + exact->memo_size * sizeof exact->memo[0] <= exact->memory)
            choices = realloc(exact->choices, bytes);
        if (!choices) {
            exact->stopped = EXACT_OUT_OF_MEMORY;
            return;
        }
        exact->choices = choices;
        exact->choices_room = room;
    }
    exact->choices[exact->n_choices++] = (struct choice){.state = state, .value = value};
}

/*
 * Chooses which warps of segment s execute: `left` of those before instructions i .. , the last
 * instruction's share being leave[s]. c: warps not yet placed; arriving: warps that come to i in
 * this cycle.
 */
static void place(struct expansion *x, size_t s, size_t i, unsigned left, unsigned c, unsigned arriving,
                  state_id state)
{
    struct exact *exact = x->exact;
    const struct relax_segment *segment = &exact->relax->segments[s];
    size_t last = segment->begin + segment->length - 1;
    unsigned k, behind;

    /* Where no warp is and none comes, nothing is added to the number. */
    while (i < last && x->count[i] == 0 && arriving == 0)
        i++;
    k = x->count[i];
    if (i == last) {
        unsigned after = k - x->leave[s] + arriving;

        state += state_part(exact->space, i, c, after);
        c -= after;
        if (s + 1 < exact->relax->n_segments)
            place(x, s + 1, i + 1, x->execute[s + 1] - x->leave[s + 1], c, x->leave[s], state);
        else
            push(exact, state, x->value);
        return;
    }
    behind = exact->behind[i];
    for (unsigned e = left > behind ? left - behind : 0; e <= left && e <= k; e++) {
        unsigned after = k - e + arriving;

        place(x, s, i + 1, left - e, c - after, e, state + state_part(exact->space, i, c, after));
    }
}

/*
 * Chooses how many warps of each segment execute and leave; goes on where the table allows enough
 * cycles.
 */
static void spread(struct expansion *x, size_t s, unsigned c, uint64_t index, unsigned share[N_UNITS],
                   unsigned arriving)
{
    const struct relax *relax = x->exact->relax;
    const struct relax_segment *segment;
    unsigned left, k, at_end;

    /* A segment where no warp is and none comes adds nothing to the index. */
    while (s < relax->n_segments && x->k[s] == 0 && arriving == 0) {
        x->execute[s] = x->leave[s] = 0;
        s++;
    }
    if (s == relax->n_segments) {
        x->value = relax_at(relax, index);
        if (x->value >= x->need)
            place(x, 0, 0, x->execute[0] - x->leave[0], relax->warps, 0, 0);
        return;
    }
    segment = &relax->segments[s];
    left = share[segment->unit];
    k = x->k[s];
    at_end = x->count[segment->begin + segment->length - 1];
    for (unsigned e = left > x->later[s] ? left - x->later[s] : 0; e <= left && e <= k; e++) {
        share[segment->unit] = left - e;
        x->execute[s] = e;
        for (unsigned m = e > k - at_end ? e - (k - at_end) : 0; m <= e && m <= at_end; m++) {
            unsigned k_after = k - m + arriving;
            unsigned w_after = x->w[s] - e + arriving * segment->length;

            x->leave[s] = m;
            spread(x, s + 1, c - k_after, index + relax_part(relax, s, c, k_after, w_after), share, m);
        }
    }
    share[segment->unit] = left;
}

/* Pushes all successors of the state that may be followed by `need` cycles. */
static void expand(struct exact *exact, state_id state, unsigned need)
{
    const struct relax *relax = exact->relax;
    uint8_t *count = exact->count;
    struct expansion x = {.exact = exact, .count = count, .need = need};
    unsigned waiting[N_UNITS] = {0};
    unsigned shares[STEP_MAX_SHARES][N_UNITS];
    size_t n_shares;

    state_unpack(exact->space, state, count);
    for (size_t s = relax->n_segments; s-- > 0;) {
        const struct relax_segment *segment = &relax->segments[s];

        for (unsigned i = 0; i < segment->length; i++) {
            x.k[s] += count[segment->begin + i];
            x.w[s] += count[segment->begin + i] * (segment->length - i);
        }
        for (unsigned i = segment->length - 1; i-- > 0;) {
            size_t at = segment->begin + i;

            exact->behind[at] =
                i + 2 < segment->length ? (uint8_t)(exact->behind[at + 1] + count[at + 1]) : 0;
        }
        x.later[s] = waiting[segment->unit];
        waiting[segment->unit] += x.k[s];
    }
    n_shares = step_shares(exact->problem, waiting, shares);
    for (size_t i = 0; i < n_shares; i++)
        spread(&x, 0, relax->warps, 0, shares[i], 0);
}

/* Drops the choices from `first` on that are known to lead to fewer than `need` cycles. */
static void drop_known(struct exact *exact, size_t first, unsigned need)
{
    size_t kept = first;

    for (size_t i = first; i < exact->n_choices; i++) {
        if (i + PREFETCH < exact->n_choices)
            __builtin_prefetch(&exact->memo[memo_slot(exact, exact->choices[i + PREFETCH].state)]);
        if (memo_bound(exact, exact->choices[i].state) >= need)
            exact->choices[kept++] = exact->choices[i];
    }
    exact->n_choices = kept;
}

static int by_value(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

/* Is there a run of at least `need` cycles from the state? Writes path[0..] on success. */
static int search(struct exact *exact, state_id state, unsigned need, state_id path[], size_t *ret_n)
{
    size_t first = exact->n_choices;
    int result;

    path[0] = state;
    if (state == 0) {
        *ret_n = 1;
        return 0; /* all warps are done; need is 0 here, as the table is 0 for this state alone */
    }
    if (++exact->entered % ENTERED_PER_CLOCK_CHECK == 0 && exact->until_at && clock_now() > exact->until_at)
        return EXACT_OUT_OF_TIME;
    if (exact->entered > exact->enter_most)
        return EXACT_OUT_OF_EFFORT;
    expand(exact, state, need ? need - 1 : 0);
    if (exact->stopped)
        return exact->stopped;
    drop_known(exact, first, need ? need - 1 : 0);
    qsort(exact->choices + first, exact->n_choices - first, sizeof exact->choices[0], by_value);
    while (exact->n_choices > first) {
        state_id next = exact->choices[--exact->n_choices].state;

        if (need && memo_bound(exact, next) < need - 1)
            continue;
        result = search(exact, next, need ? need - 1 : 0, path + 1, ret_n);
        if (result == 0)
            ++*ret_n;
        if (result != EXACT_NONE)
            return result;
    }
    result = memo_make_room(exact);
    if (result)
        return result;
    memo_put(exact, (state + 1) << BOUND_BITS | (need - 1));
    return EXACT_NONE;
}

struct exact *exact_new(const struct relax *relax, const struct state_space *space, size_t memory)
{
    struct exact *exact = calloc(1, sizeof *exact);

    if (!exact)
        return NULL;
    exact->relax = relax;
    exact->space = space;
    exact->problem = space->problem;
    exact->memory = memory;
    exact->memo_size = FIRST_MEMO;
    exact->choices_room = FIRST_MEMO;
    exact->memo = calloc(exact->memo_size, sizeof exact->memo[0]);
    exact->choices = calloc(exact->choices_room, sizeof exact->choices[0]);
    exact->count = calloc(exact->problem->n, 1);
    exact->behind = calloc(exact->problem->n, 1);
    if (!exact->memo || !exact->choices || !exact->count || !exact->behind) {
        exact_free(exact);
        return NULL;
    }
    return exact;
}

void exact_free(struct exact *exact)
{
    if (!exact)
        return;
    free(exact->memo);
    free(exact->choices);
    free(exact->count);
    free(exact->behind);
    free(exact);
}

int exact_search(struct exact *exact, unsigned target, uint64_t effort, baton_nsec until_at,
                 state_id ret_path[], size_t *ret_n)
{
    if (relax_start(exact->relax) < target)
        return EXACT_NONE;
    if (relax_start(exact->relax) > EXACT_MAX_CYCLES)
        return EXACT_OUT_OF_MEMORY; /* one level of the stack per cycle */
    exact->until_at = until_at;
    exact->enter_most = effort ? exact->entered + effort : UINT64_MAX;
    exact->n_choices = 0;
    exact->stopped = 0;
    return search(exact, state_space_size(exact->space) - 1, target, ret_path, ret_n);
}

uint64_t exact_entered(const struct exact *exact)
{
    return exact->entered;
}
