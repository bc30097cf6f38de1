/* Marks that have the status that a test gives them. A program includes it once. */
#ifndef TESTS_ENGINE_SCRIPTED_MARK_H
#define TESTS_ENGINE_SCRIPTED_MARK_H

#include "engine/driver_ops.h"

struct mark {
    int status;
};

static int mark_status(struct mark *mark)
{
    return mark->status;
}

static void mark_nothing(struct mark *mark)
{
    (void)mark;
}

static void mark_no_times(struct mark *mark, struct mark_times *ret_times)
{
    (void)mark;
    *ret_times = (struct mark_times){0};
}

static const struct driver_ops ops = {
    .mark_status = mark_status, .mark_drop = mark_nothing, .mark_times = mark_no_times};

#endif
