#include "spread/decide.h"

#include <math.h>

#define UNKNOWN_SPEED 4.0 /* bytes per ns, before anything was moved */
#define FEW           (DECIDE_TRIALS + 1)

static unsigned power_of(size_t items)
{
    return items ? (unsigned)ilogb((double)items) % DECIDE_POWERS : 0;
}

double decide_bytes(const struct growth *growth, size_t bytes)
{
    double ns = bytes ? growth_at(growth, bytes) : 0;

    return ns >= 0 ? ns : (double)bytes / UNKNOWN_SPEED;
}

/* Measured for this size, or predicted by the line through at least two other sizes. */
static bool known_alone(const struct split_decision *decision, size_t items)
{
    return growth_known(&decision->one, items) >= DECIDE_KNOWN ||
           (decision->one.n >= 2 && decision->one.turn >= 2 * DECIDE_KNOWN);
}

bool decide_worth_it(const struct split_decision *decision, size_t items)
{
    return !decision->never && !decision->rest[power_of(items)] && known_alone(decision, items) &&
           growth_at(&decision->one, items) >= DECIDE_LEAST;
}

/* --- reports --- */

void decide_ran_alone(struct split_decision *decision, size_t items, int64_t ns)
{
    unsigned power = power_of(items);

    decision->spent += (double)ns;
    decision->rest[power] -= decision->rest[power] > 0;
    if (decision->warm_one)
        growth_add(&decision->one, items, (double)ns);
    decision->warm_one = true;
}

void decide_ran_split(struct split_decision *decision, size_t items, int64_t shares, int64_t all)
{
    double one = growth_at(&decision->one, items);

    decision->spent += (double)all;
    if (!(decision->chosen >> power_of(items) & 1) && one >= 0 && (double)all > one)
        decision->lost += (double)all - one;
    if (decision->warm_several) {
        growth_add(&decision->shares, items, (double)shares);
        growth_add(&decision->several, items, (double)all);
    }
    decision->warm_several = true;
    decision->pending -= decision->pending > 0;
}

void decide_void(struct split_decision *decision, size_t items)
{
    decision->pending -= decision->pending > 0;
    decision->rest[power_of(items)] = DECIDE_AGAIN;
}

/* --- decisions --- */

/* Chooses one device until the loss is within the budget. */
static void rest(struct split_decision *decision, size_t items, double loss, double one)
{
    double missing = (decision->lost + loss) / DECIDE_BUDGET - decision->spent;
    double launches = missing > 0 && one > 0 ? missing / one : 0;

    decision->rest[power_of(items)] = launches < DECIDE_AGAIN ? DECIDE_AGAIN
                                      : launches < UINT16_MAX ? (uint32_t)launches
                                                              : UINT16_MAX;
}

static bool affordable(const struct split_decision *decision, double loss)
{
    return loss <= 0 || decision->lost + loss <= DECIDE_BUDGET * decision->spent;
}

/*
 * Both ways are measured for this size: chooses the better one, with hysteresis, and from time to
 * time tries the other.
 */
static bool by_measurement(struct split_decision *decision, size_t items, double one, double several)
{
    uint64_t bit = UINT64_C(1) << power_of(items);
    double latest = growth_latest(&decision->several, items), loss;

    if (several > one)
        decision->chosen &= ~bit;
    else if (several < DECIDE_GAIN * one)
        decision->chosen |= bit;
    if (decision->chosen & bit) { /* charged now, because its report may come after further launches */
        loss = fmax(one - several, DECIDE_BUDGET * several);
        if (!affordable(decision, loss))
            return true;
        decision->lost += loss;
        return false;
    }
    /*
     * Uses the latest trial, not the median: after a change, the next trials follow at once.
     */
    if (decision->pending)
        return false;
    if (latest >= DECIDE_GAIN * one)
        rest(decision, items, latest - one, one);
    return affordable(decision, latest - one);
}

/*
 * By measurement, or by a line through at least two sizes: one size alone does not separate the
 * fixed part from the growing part.
 */
static double line_at(const struct growth *growth, size_t items)
{
    return growth->n >= 2 || growth_known(growth, items) ? growth_at(growth, items) : -1;
}

/* The sum of the parts of a split launch, or the line of whole launches if that is worse. */
static double predict(const struct split_decision *decision, const struct decision_costs *costs,
                      const struct decision_case *launch, double one)
{
    double shares = line_at(&decision->shares, launch->items);
    double parts = (shares >= 0 ? shares : one / launch->devices) +
                   decide_bytes(&costs->move, launch->move_bytes) +
                   decide_bytes(&costs->merge, launch->merge_bytes);

    return fmax(parts, line_at(&decision->several, launch->items));
}

/*
 * Too little is known about this size. Trials that have begun are completed, because a single
 * disturbed trial tells nothing. A prediction may also rest on a disturbed measurement, such as the
 * first copies to a device whose driver was not ready. So a prediction against several devices is
 * tested later, when the budget allows it.
 */
static bool by_prediction(struct split_decision *decision, const struct decision_costs *costs,
                          const struct decision_case *launch, double one)
{
    uint64_t bit = UINT64_C(1) << power_of(launch->items);
    double expected = predict(decision, costs, launch, one);
    bool splits;

    if (growth_known(&decision->several, launch->items) > 0 || expected < DECIDE_GAIN * one)
        return decision->pending < FEW;
    splits = decision->doubted & bit && !decision->pending && affordable(decision, expected - one);
    decision->doubted |= bit;
    if (!splits)
        rest(decision, launch->items, expected - one, one);
    return splits;
}

bool decide_split(struct split_decision *decision, const struct decision_costs *costs,
                  const struct decision_case *launch)
{
    double one = growth_at(&decision->one, launch->items), latest;
    bool splits;

    if (launch->devices < 2 || !decide_worth_it(decision, launch->items))
        return false;
    latest = growth_latest(&decision->several, launch->items);
    if (growth_known(&decision->several, launch->items) >= DECIDE_TRIALS)
        splits = by_measurement(decision, launch->items, one, growth_at(&decision->several, launch->items));
    else if (latest > DECIDE_HOPELESS * one)
        splits = by_measurement(decision, launch->items, one, latest);
    else
        splits = by_prediction(decision, costs, launch, one);
    decision->pending += splits;
    return splits;
}
