#include "engine/direct.h"

#include "base/clock.h"
#include "client/lease.h"
#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/meter.h"
#include "engine/runtime.h"

void direct_over(const struct command *draft, baton_nsec begin_at, bool alone)
{
    struct device_engine *engine = draft->runs_on;
    struct lease_work work = {.kernel = draft->meter ? draft->meter->name : NULL,
                              .size = draft->meter ? draft->items : draft->bytes,
                              .pieces = 1};
    baton_nsec end_at;

    if (!draft->leased)
        return;
    end_at = clock_now();
    engine_report(engine_of_kind(engine, draft->engine), begin_at, end_at, &work);
    if (alone && !flight_any(engine))
        engine_learn_copy(engine_of_kind(engine, draft->engine), draft->bytes, end_at - begin_at);
    engine_exit(engine, draft->engine, draft->predicted);
}

void direct_leave(const struct command *draft)
{
    if (draft->leased)
        engine_exit(draft->runs_on, draft->engine, draft->predicted);
}
