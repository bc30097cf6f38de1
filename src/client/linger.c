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

static void grow_credit(struct lingering *linger, baton_nsec now_at)
{
    linger->spent -= least(linger->spent, (now_at - linger->grown_at) / LINGER_SHARE);
    linger->grown_at = now_at;
}

baton_nsec linger_for(struct lingering *linger, baton_nsec now_at)
{
    baton_nsec away = expected(linger);
    baton_nsec wish = least(2 * away + AWAKE, LINGER_MOST);

    linger_left(linger, now_at);
    grow_credit(linger, now_at);
    if (!away || away > LINGER_MOST || linger->spent + wish > LINGER_CREDIT)
        return 0;
    linger->spent += wish;
    linger->promised = wish;
    return wish;
}

void linger_back(struct lingering *linger, baton_nsec now_at)
{
    baton_nsec away = now_at - linger->left_at;

    if (!linger->left_at)
        return;
    linger->spent -= linger->promised - least(linger->promised, away); /* the part that was not needed */
    linger->away[1] = linger->away[0];
    linger->away[0] = away > 0 ? away : 1;
    linger->left_at = 0;
    linger->promised = 0;
}
