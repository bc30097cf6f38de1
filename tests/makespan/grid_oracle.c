#include "grid_oracle.h"

#include <string.h>

#define PLACE_EMPTY    7u /* as the position of every warp of an empty place */
#define BITS           3
#define TABLE          (1u << 19)
#define MOST_FOLLOWERS 256 /* sets of at most 8 warps of one multiprocessor */

/* Positions of all warps of one multiprocessor, place by place; as a code, three bits each. */
struct processor {
    uint8_t position[GRID_MOST_WARPS];
};

struct explorer {
    const struct grid_case *grid;
    unsigned n; /* instructions */
    unsigned unit[GRID_MOST_STEPS];
    bool barrier[GRID_MOST_STEPS + 1]; /* [p]: a barrier stands before instruction p */
    unsigned warps;                    /* of one multiprocessor */
    unsigned states, most_states;
    uint64_t *keys;   /* [TABLE]: a state, 0: empty */
    uint16_t *values; /* [TABLE] */
    unsigned *used;   /* [n_used]: entries of the table */
    unsigned n_used;
};

static void sort(uint64_t values[], unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        for (unsigned j = i; j > 0 && values[j - 1] > values[j]; j--) {
            uint64_t value = values[j];

            values[j] = values[j - 1];
            values[j - 1] = value;
        }
    }
}

/*
 * One code for all orders of the warps in a group and of the groups on the multiprocessor: they are
 * alike.
 */
static uint64_t encode(const struct explorer *x, const struct processor *processor)
{
    uint64_t places[GRID_MOST_WARPS];
    uint64_t code = 0;

    for (unsigned r = 0; r < x->grid->resident; r++) {
        uint64_t warps[GRID_MOST_WARPS];

        for (unsigned w = 0; w < x->grid->warps; w++)
            warps[w] = processor->position[r * x->grid->warps + w];
        sort(warps, x->grid->warps);
        places[r] = 0;
        for (unsigned w = 0; w < x->grid->warps; w++)
            places[r] = places[r] << BITS | warps[w];
    }
    sort(places, x->grid->resident);
    for (unsigned r = 0; r < x->grid->resident; r++)
        code = code << (BITS * x->grid->warps) | places[r];
    return code;
}

static struct processor decode(const struct explorer *x, uint64_t code)
{
    struct processor processor = {0};

    for (unsigned i = x->warps; i-- > 0; code >>= BITS)
        processor.position[i] = code & PLACE_EMPTY;
    return processor;
}

/*
 * May warp i execute: it is not done, and no warp of its group is still before the barrier that it
 * stands behind.
 */
static bool is_ready(const struct explorer *x, const struct processor *processor, unsigned i)
{
    unsigned first = i / x->grid->warps * x->grid->warps;
    unsigned position = processor->position[i];

    if (position >= x->n)
        return false;
    for (unsigned w = first; x->barrier[position] && w < first + x->grid->warps; w++) {
        if (processor->position[w] < position)
            return false;
    }
    return true;
}

/* Does the set fit, and is there no ready warp that could be added? */
static bool is_full_cycle(const struct explorer *x, const struct processor *processor, unsigned ready,
                          unsigned set)
{
    unsigned used[4] = {0}, all = 0;

    for (unsigned i = 0; i < x->warps; i++) {
        if (set >> i & 1) {
            used[x->unit[processor->position[i]]]++;
            all++;
        }
    }
    if (x->grid->issue && all > x->grid->issue)
        return false;
    for (unsigned u = 0; u < 4; u++) {
        if (used[u] > x->grid->capacity[u])
            return false;
    }
    for (unsigned i = 0; i < x->warps; i++) {
        unsigned unit = ready >> i & 1 ? x->unit[processor->position[i]] : 0;

        if (ready >> i & 1 && !(set >> i & 1) && used[unit] < x->grid->capacity[unit] &&
            (!x->grid->issue || all < x->grid->issue))
            return false;
    }
    return true;
}

/* Empties the places of groups that ended. */
static void clear_ended(const struct explorer *x, struct processor *processor)
{
    for (unsigned r = 0; r < x->grid->resident; r++) {
        unsigned done = 0;

        for (unsigned w = 0; w < x->grid->warps; w++)
            done += processor->position[r * x->grid->warps + w] == x->n;
        if (done == x->grid->warps)
            memset(processor->position + r * x->grid->warps, PLACE_EMPTY, x->grid->warps);
    }
}

/* Every state of the multiprocessor a cycle later; places of groups that ended are empty. */
static unsigned follow(const struct explorer *x, uint64_t code, uint64_t followers[])
{
    struct processor processor = decode(x, code);
    unsigned ready = 0, n = 0;

    for (unsigned i = 0; i < x->warps; i++)
        ready |= (unsigned)is_ready(x, &processor, i) << i;
    for (unsigned set = ready;; set = (set - 1) & ready) {
        if (is_full_cycle(x, &processor, ready, set)) {
            struct processor after = processor;
            unsigned known = 0;
            uint64_t next;

            for (unsigned i = 0; i < x->warps; i++)
                after.position[i] += set >> i & 1;
            clear_ended(x, &after);
            next = encode(x, &after);
            while (known < n && followers[known] != next)
                known++;
            if (known == n && n < MOST_FOLLOWERS)
                followers[n++] = next;
        }
        if (set == 0)
            return n;
    }
}

static unsigned slot(uint64_t key)
{
    return (unsigned)(key * UINT64_C(0x9E3779B97F4A7C15) >> 45);
}

static unsigned worst(struct explorer *x, const uint64_t codes[], unsigned pending);

/*
 * Puts waiting groups into the empty places of multiprocessors m .. , in every way that leaves no
 * place empty while one waits.
 */
static unsigned dispatch(struct explorer *x, const uint64_t codes[], unsigned m, unsigned pending)
{
    uint64_t now[GRID_MOST_WARPS];
    unsigned later = 0, longest = 0;
    unsigned empty[GRID_MOST_WARPS] = {0};

    memcpy(now, codes, x->grid->multiprocessors * sizeof now[0]);
    if (m == x->grid->multiprocessors)
        return worst(x, now, pending);
    for (unsigned i = m; i < x->grid->multiprocessors; i++) {
        struct processor processor = decode(x, codes[i]);

        for (unsigned r = 0; r < x->grid->resident; r++)
            empty[i] += processor.position[r * x->grid->warps] == PLACE_EMPTY;
        later += i > m ? empty[i] : 0;
    }
    for (unsigned take = 0; take <= empty[m] && take <= pending; take++) {
        struct processor processor = decode(x, codes[m]);
        unsigned left = take, cycles;

        if (take < empty[m] && pending - take > later)
            continue; /* a group would wait beside an empty place */
        for (unsigned r = 0; r < x->grid->resident && left; r++) {
            if (processor.position[r * x->grid->warps] == PLACE_EMPTY) {
                memset(processor.position + r * x->grid->warps, 0, x->grid->warps);
                left--;
            }
        }
        now[m] = encode(x, &processor);
        cycles = dispatch(x, now, m + 1, pending - take);
        longest = cycles > longest ? cycles : longest;
    }
    return longest;
}

/* One cycle of multiprocessors m .. , in every way. */
static unsigned step(struct explorer *x, const uint64_t codes[], uint64_t next[], unsigned m,
                     unsigned pending)
{
    uint64_t followers[MOST_FOLLOWERS];
    unsigned n, longest = 0;

    if (m == x->grid->multiprocessors)
        return dispatch(x, next, 0, pending);
    n = follow(x, codes[m], followers);
    for (unsigned i = 0; i < n; i++) {
        unsigned cycles;

        next[m] = followers[i];
        cycles = step(x, codes, next, m + 1, pending);
        longest = cycles > longest ? cycles : longest;
    }
    return longest;
}

/* Every way in which one ready warp leaves out its next instruction, in the same cycle. */
static unsigned skip(struct explorer *x, const uint64_t codes[], unsigned pending)
{
    unsigned longest = 0;

    for (unsigned i = 0; i < x->grid->multiprocessors * x->warps; i++) {
        unsigned m = i / x->warps, warp = i % x->warps;
        struct processor processor = decode(x, codes[m]);
        uint64_t next[GRID_MOST_WARPS];
        unsigned cycles;

        if (!is_ready(x, &processor, warp))
            continue;
        processor.position[warp]++;
        clear_ended(x, &processor);
        memcpy(next, codes, x->grid->multiprocessors * sizeof next[0]);
        next[m] = encode(x, &processor);
        cycles = dispatch(x, next, 0, pending);
        longest = cycles > longest ? cycles : longest;
    }
    return longest;
}

static unsigned worst(struct explorer *x, const uint64_t codes[], unsigned pending)
{
    uint64_t sorted[GRID_MOST_WARPS], next[GRID_MOST_WARPS], key = pending, idle;
    struct processor empty;
    unsigned at, cycles;
    bool done = true;

    memset(empty.position, PLACE_EMPTY, sizeof empty.position);
    idle = encode(x, &empty);
    memcpy(sorted, codes, x->grid->multiprocessors * sizeof sorted[0]);
    sort(sorted, x->grid->multiprocessors);
    for (unsigned m = 0; m < x->grid->multiprocessors; m++) {
        key = key << (BITS * x->warps) | sorted[m];
        done = done && sorted[m] == idle;
    }
    if (done)
        return 0;
    key++; /* 0 is an empty entry */
    for (at = slot(key); x->keys[at]; at = (at + 1) & (TABLE - 1)) {
        if (x->keys[at] == key)
            return x->values[at];
    }
    if (++x->states > x->most_states)
        return 1;
    cycles = 1 + step(x, sorted, next, 0, pending);
    if (x->grid->skips) {
        unsigned after = skip(x, sorted, pending);

        cycles = after > cycles ? after : cycles;
    }
    for (at = slot(key); x->keys[at];)
        at = (at + 1) & (TABLE - 1);
    x->keys[at] = key;
    x->values[at] = (uint16_t)cycles;
    x->used[x->n_used++] = at;
    return cycles;
}

static void read_string(const struct grid_case *grid, struct explorer *x)
{
    static const char letters[] = "LCSD";

    x->grid = grid;
    x->warps = grid->warps * grid->resident;
    for (const char *at = grid->string; *at; at++) {
        if (*at == '/')
            x->barrier[x->n] = true;
        else
            x->unit[x->n++] = (unsigned)(strchr(letters, *at) - letters);
    }
}

unsigned grid_worst(const struct grid_case *grid, unsigned most_states)
{
    static uint64_t keys[TABLE];
    static uint16_t values[TABLE];
    static unsigned used[TABLE];
    struct explorer x = {.keys = keys, .values = values, .used = used, .most_states = most_states};
    uint64_t codes[GRID_MOST_WARPS] = {0};
    struct processor empty;
    unsigned cycles;

    read_string(grid, &x);
    memset(empty.position, PLACE_EMPTY, sizeof empty.position);
    for (unsigned m = 0; m < grid->multiprocessors; m++)
        codes[m] = encode(&x, &empty);
    cycles = dispatch(&x, codes, 0, grid->groups);
    for (unsigned i = 0; i < x.n_used; i++)
        keys[used[i]] = 0;
    return x.states > most_states ? 0 : cycles;
}

bool grid_is_execution(const struct grid_case *grid, const uint16_t order[], const uint32_t cycles[])
{
    struct explorer x = {0};
    struct processor now = {0};
    unsigned entries, done = 0;

    read_string(grid, &x);
    entries = x.n * x.warps;
    for (uint32_t cycle = 0; done < entries; cycle++) {
        unsigned ready = 0, set = 0;

        for (unsigned i = 0; i < x.warps; i++)
            ready |= (unsigned)is_ready(&x, &now, i) << i;
        for (unsigned i = 0; i < entries; i++) {
            if (cycles[i] == cycle) {
                if (set >> order[i] & 1 || !(ready >> order[i] & 1))
                    return false;
                set |= 1u << order[i];
                done++;
            }
        }
        if (set == 0 || !is_full_cycle(&x, &now, ready, set))
            return false;
        for (unsigned i = 0; i < x.warps; i++)
            now.position[i] += set >> i & 1;
    }
    return true;
}
