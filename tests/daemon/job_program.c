/*
 * A program with jobs, as scripts start it by `baton run`: does jobs of so many ms each, says `up`, and stays until its input ends.
 * --forever MS: does such jobs until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session.h"

static void do_job(struct session *session, const char *length_ms)
{
    session_job_begin(session, true, clock_now());
    (void)usleep((useconds_t)(strtod(length_ms, NULL) * 1000));
    session_job_end(session, true, clock_now());
}

int main(int argc, char *argv[])
{
    static struct settings settings;
    struct session *session = NULL;
    const char *bad;
    char rest[64];

    settings_from_environment(&settings, &bad);
    if (bad || session_open(&settings, NULL, &session) < 0)
        return 3;
    while (argc == 3 && strcmp(argv[1], "--forever") == 0)
        do_job(session, argv[2]);
    for (int i = 1; i < argc; i++)
        do_job(session, argv[i]);
    printf("up\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, rest, sizeof rest) > 0)
        ;
    session_close(session);
    return 0;
}
