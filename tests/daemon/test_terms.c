/*
 * What holds for a client, and when: plans at job borders, ceilings at once, and whose a task is.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "client/session.h"
#include "fixture.h"
#include "harness.h"

#define CONFIG "probe: false\nrealtime: false\n"
#define NOBODY 65534

static void write_text(const struct fixture *fixture, const char *name, const char *text, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", fixture->folder, name);
    ck_assert_int_eq(file_write_atomic(ret_path, text, strlen(text)), 0);
}

static struct session *join(const struct fixture *fixture, const char *name, int priority)
{
    struct settings settings = fixture_settings(fixture, name, priority);
    struct session *session = NULL;

    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    ck_assert(session_online(session));
    return session;
}

static unsigned priority_of(struct session *session)
{
    struct session_plan plan;

    session_plan(session, &plan);
    return plan.priority;
}

struct expected {
    struct session *session;
    unsigned priority;
};

static bool has_priority(void *argument)
{
    const struct expected *expected = argument;

    return priority_of(expected->session) == expected->priority;
}

START_TEST(a_new_plan_is_taken_between_two_jobs)
{
    static const char one[] = "analysis: holistic\nprofile: priority\ntasks:\n"
                              "  - {name: eye, priority: 70}\n  - {name: ear, priority: 60}\n";
    static const char two[] = "analysis: holistic\nprofile: priority\ntasks:\n"
                              "  - {name: eye, priority: 20}\n  - {name: ear, priority: 10}\n";
    struct fixture fixture;
    char path[128];
    const char *extra[] = {"--plan", path, NULL};
    struct session *eye;
    struct session *ear;

    fixture_start(&fixture, CONFIG, NULL);
    fixture_kill_daemon(&fixture, SIGTERM);
    write_text(&fixture, "plan.yaml", one, path);
    fixture_restart(&fixture, extra);
    eye = join(&fixture, "eye", 5);
    ear = join(&fixture, "ear", 5);
    fixture_wait(has_priority, &(struct expected){eye, 70}, "the first plan");
    session_job_begin(eye, true, clock_now());
    write_text(&fixture, "plan.yaml", two, path);
    (void)kill(fixture.daemon, SIGHUP);
    fixture_wait(has_priority, &(struct expected){ear, 10}, "who is between jobs takes it at once");
    ck_assert_uint_eq(priority_of(eye), 70); /* told at the same time, but in a job */
    session_job_end(eye, true, clock_now());
    fixture_wait(has_priority, &(struct expected){eye, 20}, "who was in a job takes it after that");
    session_close(eye);
    session_close(ear);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_lower_ceiling_does_not_wait_for_a_border)
{
    struct fixture fixture;
    struct session *session;
    char config[256];
    char path[128];

    fixture_start(&fixture, CONFIG, NULL);
    session = join(&fixture, "eye", 80);
    fixture_wait(has_priority, &(struct expected){session, 80}, "its own priority");
    session_job_begin(session, true, clock_now());
    (void)snprintf(config, sizeof config, CONFIG "users: [{user: %u, ceiling: 30}]\n", (unsigned)getuid());
    write_text(&fixture, "c.yaml", config, path);
    (void)kill(fixture.daemon, SIGHUP);
    fixture_wait(has_priority, &(struct expected){session, 30}, "the ceiling");
    session_close(session);
    fixture_done(&fixture);
}
END_TEST

/*
 * Daemon and client. The planner's answer, if there is one, has come: there is no planner, and
 * nothing is said any more.
 */
static bool is_settled(void *argument)
{
    const pid_t *pids = argument;
    unsigned long long before = fixture_quiet(pids, 2);

    return !fixture_has_children(pids[0]) && fixture_quiet(pids, 2) == before;
}

/*
 * In a process of another user: the priority under this name, 200 + priority for best effort; 255:
 * no connection.
 */
static int priority_as_nobody(const struct fixture *fixture, const char *name, int priority)
{
    int told[2], status = 0;
    pid_t pid;
    char letter = 0;

    ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        struct settings settings = fixture_settings(fixture, name, priority);
        struct session *session = NULL;
        struct session_plan plan;

        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || session_open(&settings, NULL, &session) < 0 ||
            !session_online(session) || read(told[0], &letter, 1) != 1)
            _exit(255);
        session_plan(session, &plan);
        session_close(session);
        _exit(plan.best_effort ? 200 + (int)plan.priority : (int)plan.priority);
    }
    ck_assert_int_gt(pid, 0);
    fixture_wait(is_settled, (pid_t[]){fixture->daemon, pid}, "the planner ends");
    ck_assert_int_eq(write(told[1], &letter, 1), 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    close(told[0]);
    close(told[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_task_belongs_to_the_user_who_runs_it_and_ceilings_are_beneath_the_plan)
{
    static const char tasks[] = "platform: {cpus: 2, gpus: 1}\ntasks:\n"
                                "  - {name: eye, period_ms: 100, segments: [{cpu_ms: 1}, {kernel_ms: 4}]}\n";
    static const char plan[] =
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: ear, priority: 90}\n";
    struct fixture fixture;
    char path[128];
    char plan_path[128];
    const char *extra[] = {"--shared", "--tasks", path, "--plan", plan_path, NULL};
    struct session *eye;

    if (getuid() != 0)
        return; /* only root can become another user */
    fixture_start(&fixture, CONFIG "planner_ms: 600000\nothers: {ceiling: 5}\n", NULL);
    fixture_kill_daemon(&fixture, SIGTERM);
    write_text(&fixture, "tasks.yaml", tasks, path);
    write_text(&fixture, "plan.yaml", plan, plan_path);
    ck_assert_int_eq(chmod(fixture.folder, 0755), 0);
    fixture_restart(&fixture, extra);
    ck_assert_int_eq(priority_as_nobody(&fixture, "nose", 99), 5); /* beneath the plan: the ceiling */
    ck_assert_int_eq(priority_as_nobody(&fixture, "ear", 1), 90);  /* the plan's own */
    ck_assert_int_eq(priority_as_nobody(&fixture, "eye", 99), 10); /* no other user runs it: admitted */
    eye = join(&fixture, "eye", 1);
    fixture_wait(has_priority, &(struct expected){eye, 10}, "the task is admitted");
    ck_assert_int_eq(priority_as_nobody(&fixture, "eye", 99), 200); /* it is root's */
    ck_assert_uint_eq(priority_of(eye), 10);
    session_close(eye);
    fixture_done(&fixture);
}
END_TEST

static bool is_best_effort(void *argument)
{
    struct session_plan plan;

    session_plan(argument, &plan);
    return plan.best_effort;
}

START_TEST(a_task_that_a_user_claims_is_nobody_elses)
{
    static const char plan[] = "analysis: holistic\nprofile: priority\ntasks:\n"
                               "  - {name: eye, priority: 70}\n  - {name: ear, priority: 60}\n";
    struct fixture fixture;
    char path[128];
    char plan_path[128];
    const char *extra[] = {"--shared", "--plan", plan_path, NULL};

    if (getuid() != 0)
        return; /* only root can become another user */
    fixture_start(&fixture, CONFIG, NULL);
    fixture_kill_daemon(&fixture, SIGTERM);
    write_text(&fixture, "plan.yaml", plan, plan_path);
    write_text(&fixture, "c.yaml",
               CONFIG
               "users: [{user: 1, ceiling: 90, tasks: [eye]}, {user: 65534, ceiling: 90, tasks: [ear]}]\n",
               path);
    ck_assert_int_eq(chmod(fixture.folder, 0755), 0);
    fixture_restart(&fixture, extra);
    ck_assert_int_eq(priority_as_nobody(&fixture, "eye", 99), 200); /* it is user 1's, running or not */
    ck_assert_int_eq(priority_as_nobody(&fixture, "ear", 1), 60);
    fixture_done(&fixture);
}
END_TEST

START_TEST(whose_a_task_is_can_change_while_it_runs)
{
    static const char plan[] =
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: eye, priority: 70}\n";
    struct fixture fixture;
    struct session *eye;
    char config[256];
    char path[128];
    char plan_path[128];
    const char *extra[] = {"--plan", plan_path, NULL};

    if (getuid() == 0)
        return; /* root may run what others claim */
    fixture_start(&fixture, CONFIG, NULL);
    fixture_kill_daemon(&fixture, SIGTERM);
    write_text(&fixture, "plan.yaml", plan, plan_path);
    fixture_restart(&fixture, extra);
    eye = join(&fixture, "eye", 5);
    fixture_wait(has_priority, &(struct expected){eye, 70}, "the plan");
    write_text(&fixture, "c.yaml", CONFIG "users: [{user: root, tasks: [eye]}]\n", path);
    (void)kill(fixture.daemon, SIGHUP);
    fixture_wait(is_best_effort, eye, "root claims it");
    (void)snprintf(config, sizeof config, CONFIG "users: [{user: %u, ceiling: 99, tasks: [eye]}]\n",
                   (unsigned)getuid());
    write_text(&fixture, "c.yaml", config, path);
    (void)kill(fixture.daemon, SIGHUP);
    fixture_wait(has_priority, &(struct expected){eye, 70}, "it is ours again");
    session_close(eye);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("terms", 30, a_new_plan_is_taken_between_two_jobs, a_lower_ceiling_does_not_wait_for_a_border,
             a_task_that_a_user_claims_is_nobody_elses, whose_a_task_is_can_change_while_it_runs,
             a_task_belongs_to_the_user_who_runs_it_and_ceilings_are_beneath_the_plan)
