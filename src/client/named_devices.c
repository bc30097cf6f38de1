#include <stdio.h>

#include "client/session_private.h"

void session_name_device(struct session *session, uintptr_t device, char name[DEVICE_NAME_SIZE])
{
    struct named_device *named;

    if (!session || session_forked(session))
        return;
    pthread_mutex_lock(&session->lock);
    for (named = session->named; named < session->named + session->n_named; named++) {
        if (named->device == device) {
            (void)snprintf(name, DEVICE_NAME_SIZE, "%s", named->name);
            pthread_mutex_unlock(&session->lock);
            return;
        }
    }
    if (session->n_named < SESSION_NAMED) {
        named->device = device;
        (void)snprintf(named->name, sizeof named->name, "%s", name);
        session->n_named++;
    }
    pthread_mutex_unlock(&session->lock);
}
