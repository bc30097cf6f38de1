/*
 * Engines beyond the leases of a session: a program that uses them says that its work there is
 * under no rule. tests/both/unmanaged.sh has whole programs, with batond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/session_private.h"
#include "engine/engine_device.h"
#include "engine/runtime.h"
#include "harness.h"

#define DEVICES (PAGE_LEASES / ENGINE_N + 1) /* the last one has an engine without a lease */

static const struct driver_ops no_driver;
static struct engine_device devices[DEVICES];

static const struct frame_notice *unmanaged(const struct session *session)
{
    for (int i = 0; i < session->n_notices; i++) {
        if (session->notices[i].said.notice == NOTICE_UNMANAGED)
            return &session->notices[i].said;
    }
    return NULL;
}

START_TEST(a_device_without_leases_is_told_however_many_notices_came_before)
{
    struct session *session;
    char name[32], detail[96];

    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&no_driver);
    session = runtime_session();
    ck_assert_ptr_nonnull(session);
    for (int i = 0; i < 2 * SESSION_NOTICES; i++) {
        (void)snprintf(name, sizeof name, "kernel %d", i);
        (void)session_notice(session, NOTICE_SMALL, name, "");
    }
    for (unsigned i = 0; i < DEVICES; i++) {
        ck_assert_ptr_null(unmanaged(session));
        (void)snprintf(name, sizeof name, "test:%u", i);
        engine_device_init(&devices[i], &no_driver, name, NULL);
        ck_assert(engine_device_admit(&devices[i])); /* no daemon demands that it is managed */
        ck_assert_ptr_null(unmanaged(session));
        engine_device_use(&devices[i]);
    }
    ck_assert_ptr_null(devices[DEVICES - 1].own[ENGINE_N - 1].lease);
    ck_assert_ptr_nonnull(unmanaged(session));
    (void)snprintf(detail, sizeof detail, "%s: a process has at most 32 engines", name);
    ck_assert_str_eq(unmanaged(session)->detail, detail);
    session_close(session);
}
END_TEST

HARNESS_MAIN("unmanaged", 30, a_device_without_leases_is_told_however_many_notices_came_before)
