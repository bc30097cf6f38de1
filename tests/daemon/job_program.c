/*
 * A program with jobs, as scripts start it by `baton run`: does jobs of so many ms each, says `up`,
 * and stays until its input ends. A job of 20 ms takes 20 ms by its instants, however late a busy
 * machine wakes the program. --forever MS: does such jobs until it is killed. RELEASE:BEGIN:END: a
 * job whose instants are so many ms after the first job's release, which nothing waits for: its
 * clock is a script. BEGIN:END: the same without saying its release.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session.h"

#define SCRIPT_AGO                                                                                           \
    (1000 * NSEC_PER_SEC) /* how far back the scripted jobs begin, so that none is in the future */

/* True: it was such a job. */
static bool do_scripted(struct session *session, const char *text, baton_nsec zero_at)
{
    double at[3];
    int n = sscanf(text, "%lf:%lf:%lf", &at[0], &at[1], &at[2]);

    if (n == 3)
        (void)session_job_begin_released(session, zero_at + (baton_nsec)(at[0] * (double)NSEC_PER_MS),
                                         zero_at + (baton_nsec)(at[1] * (double)NSEC_PER_MS));
    else if (n == 2)
        session_job_begin(session, true, zero_at + (baton_nsec)(at[0] * (double)NSEC_PER_MS));
    else
        return false;
    session_job_end(session, true, zero_at + (baton_nsec)(at[n - 1] * (double)NSEC_PER_MS));
    return true;
}

static void do_job(struct session *session, const char *length_ms)
{
    double length = strtod(length_ms, NULL);
    baton_nsec begin_at = clock_now();

    session_job_begin(session, true, begin_at);
    (void)usleep((useconds_t)(length * 1000));
    session_job_end(session, true, begin_at + (baton_nsec)(length * (double)NSEC_PER_MS));
}

int main(int argc, char *argv[])
{
    static struct settings settings;
    struct session *session = NULL;
    const char *bad;
    char rest[64];
    baton_nsec zero_at = clock_now();

    zero_at -= zero_at > SCRIPT_AGO ? SCRIPT_AGO : zero_at;
    settings_from_environment(&settings, &bad);
    if (bad || session_open(&settings, NULL, &session) < 0)
        return 3;
    while (argc == 3 && strcmp(argv[1], "--forever") == 0)
        do_job(session, argv[2]);
    for (int i = 1; i < argc; i++)
        if (!do_scripted(session, argv[i], zero_at))
            do_job(session, argv[i]);
    printf("up\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, rest, sizeof rest) > 0)
        ;
    session_close(session);
    return 0;
}
