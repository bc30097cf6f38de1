/* The processes other than rank 0. */
#include <errno.h>
#include <time.h>

#include "base/nsec.h"
#include "study/run/run_study.h"
#include "study/run/run_messages.h"

static int send_point(void *context, const struct study_point *point)
{
    const struct study_transport *transport = context;

    return transport->send(0, MESSAGE_POINT, point, sizeof *point);
}

/* The next message of rank 0. Sleeps briefly between polls, because no message is urgent. */
static int wait_for_message(const struct study_transport *transport, int *ret_tag,
                            union run_message *ret_message)
{
    const struct timespec nap = {.tv_nsec = NSEC_PER_MS};
    unsigned from;
    int result;

    while ((result = transport->poll(&from, ret_tag, ret_message, sizeof *ret_message)) == 0)
        (void)nanosleep(&nap, NULL);
    return result < 0 ? result : 0;
}

int study_serve(const struct study_spec *spec, const struct study_transport *transport,
                const atomic_bool *stop)
{
    union run_message message = {0};
    struct study_worker *worker = NULL;
    int tag = MESSAGE_UNIT;
    int result = study_worker_new(spec, &worker);

    while (!result) {
        result = transport->send(0, MESSAGE_READY, NULL, 0);
        if (!result)
            result = wait_for_message(transport, &tag, &message);
        if (result || tag == MESSAGE_END)
            break;
        if (tag != MESSAGE_UNIT || message.unit.index >= spec->n_units)
            result = -EPROTO;
        else
            result = study_worker_unit(worker, &message.unit, stop, send_point, (void *)transport);
        if (result == -EINTR) /* rank 0 was told to stop too and will send the end */
            result = 0;
    }
    study_worker_free(worker);
    if (result)
        (void)transport->send(0, MESSAGE_FAILED, &result, sizeof result);
    return result;
}
