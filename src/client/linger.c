#include <stdbool.h>

#include "client/linger.h"

#define AWAKE (50 * NSEC_PER_US) /* added to the expected absence: calls, and threads that wake up */

static baton_nsec least(baton_nsec a, baton_nsec b)
{
    return a < b ? a : b;
}

void linger_left(struct lingering *linger, baton_nsec now_at)
{
    linger->left_at = now_at;
    linger->promised = 0;
}

/*
 * The shorter of the last two absences: if a program copies two things in a row, every second
 * absence is a long one.
 */
static baton_nsec expected(const struct lingering *linger)
{
    if (!linger->away[1])
        return linger->away[0];
    return least(linger->away[0], linger->away[1]);
}

void linger_grow(struct linger_credit *credit, baton_nsec now_at, baton_nsec worked)
{
    baton_nsec passed = now_at - credit->grown_at;

    credit->spent_of_time -= least(credit->spent_of_time, passed / LINGER_SHARE);
    credit->spent_of_work -= least(credit->spent_of_work, passed / LINGER_SPARE + worked);
    credit->grown_at = now_at;
}

/* length < 0: gives credit back. */
static void spend(struct linger_credit *credit, baton_nsec length)
{
    credit->spent_of_time += length;
    credit->spent_of_work += length;
}

static bool can_spend(const struct linger_credit *credit, baton_nsec length)
{
    return credit->spent_of_time + length <= LINGER_CREDIT && credit->spent_of_work + length <= LINGER_CREDIT;
}

baton_nsec linger_for(struct lingering *linger, struct linger_credit *credit, baton_nsec now_at)
{
    baton_nsec away = expected(linger);
    baton_nsec wish = least(2 * away + AWAKE, LINGER_MOST);

    linger_left(linger, now_at);
    if (!away || away > LINGER_MOST || !can_spend(credit, wish))
        return 0;
    spend(credit, wish);
    linger->promised = wish;
    return wish;
}

void linger_back(struct lingering *linger, struct linger_credit *credit, baton_nsec now_at)
{
    baton_nsec away = now_at - linger->left_at;

    if (!linger->left_at)
        return;
    spend(credit, least(linger->promised, away) - linger->promised); /* the part that was not needed */
    linger->away[1] = linger->away[0];
    linger->away[0] = away > 0 ? away : 1;
    linger->left_at = 0;
    linger->promised = 0;
}
