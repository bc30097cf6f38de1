#include "claims_world.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct claims_world claims_world;

/* ---- the host ---- */

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    (void)user;
    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    ck_assert_uint_lt(peer, sizeof claims_world.pages / sizeof claims_world.pages[0]);
    claims_world.pages[peer] = *ret_page;
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    (void)user;
    (void)peer;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
    memcpy(claims_world.levels_at_grant, claims_world.levels, sizeof claims_world.levels);
}

static void report(void *user, const struct server_report *what)
{
    size_t n = strlen(claims_world.logged);

    (void)user;
    if (what->kind == REPORT_DIFFERS)
        (void)snprintf(claims_world.logged + n, sizeof claims_world.logged - n, "%s\n",
                       what->difference->field);
    else if (what->kind == REPORT_EARLY)
        (void)snprintf(claims_world.logged + n, sizeof claims_world.logged - n, "early\n");
    else if (what->kind == REPORT_COST)
        (void)snprintf(claims_world.logged + n, sizeof claims_world.logged - n, "cost\n");
    else if (what->kind == REPORT_TURNED_AWAY)
        (void)snprintf(claims_world.logged + n, sizeof claims_world.logged - n, "turned away\n");
    else if (what->kind == REPORT_AGREES)
        (void)snprintf(claims_world.logged + n, sizeof claims_world.logged - n, "agrees\n");
}

static int machine(void *user, struct machine *ret_machine)
{
    (void)user;
    *ret_machine = claims_world.cores;
    return claims_world.hidden ? -EIO : 0;
}

static int cores_of(void *user, pid_t pid, pid_t tid, struct core_set *ret_cores)
{
    bool of_thread = tid != pid && core_set_count(&claims_world.of_thread);

    (void)user;
    ck_assert_int_ge(pid, CLAIMS_CLIENT);
    claims_world.asked++;
    *ret_cores = of_thread ? claims_world.of_thread : claims_world.of_program;
    return 0;
}

static size_t limits_of(void *user, pid_t pid, struct rt_limit ret_limits[RT_LIMITS])
{
    (void)user;
    ret_limits[0] = pid ? claims_world.group_limit : claims_world.limit;
    return 1;
}

static size_t threads_on(void *user, pid_t pid, const struct core_set *cores)
{
    (void)user;
    ck_assert_int_ge(pid, CLAIMS_CLIENT);
    ck_assert_uint_gt(core_set_count(cores), 0);
    return claims_world.device_threads;
}

static bool is_realtime(void *user, pid_t pid)
{
    (void)user;
    ck_assert_int_ge(pid, CLAIMS_CLIENT);
    return claims_world.realtime;
}

static int rank_of(void *user, pid_t pid, pid_t tid)
{
    (void)user;
    ck_assert(pid >= CLAIMS_CLIENT && pid < CLAIMS_CLIENT + 4);
    if (tid == pid)
        return claims_world.ranks[pid - CLAIMS_CLIENT];
    return tid < 4 ? claims_world.thread_ranks[tid] : -ESRCH;
}

static size_t strangers(void *user, pid_t pid)
{
    (void)user, (void)pid;
    return claims_world.strangers;
}

static int order(void *user, pid_t pid, const struct core_set *cores, unsigned level)
{
    bool *ordered;
    int fresh;

    (void)user;
    ck_assert(pid >= CLAIMS_CLIENT && pid < CLAIMS_CLIENT + 4);
    ordered = &claims_world.ordered[pid - CLAIMS_CLIENT];
    fresh = !*ordered;
    ck_assert(!level || core_set_count(cores) > 0);
    if (claims_world.order_answer)
        return claims_world.order_answer;
    *ordered = level > 0;
    claims_world.levels[pid - CLAIMS_CLIENT] = level;
    if (claims_world.adopts) {
        fresh += (int)claims_world.strangers;
        claims_world.strangers = 0;
    }
    return level ? fresh : 0;
}

static pid_t next_process(void *user)
{
    (void)user;
    if (claims_world.next_other >= claims_world.n_others) {
        claims_world.next_other = 0;
        return 0;
    }
    return claims_world.others[claims_world.next_other++].pid;
}

static bool realtime_of(void *user, pid_t pid, const struct core_set *cores,
                        struct realtime_thread *ret_thread)
{
    (void)user;
    claims_world.asked_others++;
    for (unsigned i = 0; i < claims_world.n_others; i++) {
        const struct claims_other *other = &claims_world.others[i];
        struct core_set both = core_set_both(&other->cores, cores);

        if (other->pid != pid || !other->rank || core_set_count(&both) == 0)
            continue;
        ret_thread->rank = other->rank;
        (void)snprintf(ret_thread->name, sizeof ret_thread->name, "other");
        return true;
    }
    return false;
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user;
    (void)pid;
    (void)threads;
    (void)n;
    (void)priority;
}

struct core_set claims_cores(const char *text)
{
    struct core_set set = {0};

    ck_assert_int_eq(core_set_parse(text, &set), 0);
    return set;
}

/* ---- the plan: two tasks on two cores and one GPU ---- */

struct plan_task claims_tasks[2] = {
    {.name = "eye",
     .priority = 20,
     .gpus = 1,
     .period = PERIOD,
     .deadline = PERIOD,
     .piece = NSEC_PER_MS / 2,
     .chunk_in = 4096,
     .chunk_out = 4096,
     .bound = 7 * NSEC_PER_MS},
    {.name = "ear",
     .priority = 10,
     .gpus = 1,
     .period = PERIOD,
     .deadline = PERIOD,
     .bound = 9 * NSEC_PER_MS},
};

struct plan claims_good_plan(void)
{
    struct plan plan = {.analysis = "holistic", .profile = "priority", .tasks = claims_tasks, .n_tasks = 2};
    static const char *const values[PLAN_BASIS_FIELDS] = {
        [BASIS_POLICY] = "fixed",  [BASIS_LOCK] = "none",      [BASIS_DONATION] = "none",
        [BASIS_TOKENS] = "inf",    [BASIS_CPUS] = "2",         [BASIS_CPU_CLUSTER] = "2",
        [BASIS_GPUS] = "1",        [BASIS_GPU_CLUSTER] = "1",  [BASIS_COPY_ENGINES] = "2",
        [BASIS_BUSES] = "1",       [BASIS_MIGRATION] = "none", [BASIS_SHARED_MEMORY] = "no",
        [BASIS_OVERHEADS] = "none"};

    for (size_t i = 0; i < PLAN_BASIS_FIELDS; i++) {
        ck_assert_msg(values[i], "the field %s is new: say what a good plan has there", plan_basis_keys[i]);
        plan_basis_set(&plan.basis, (enum plan_basis_field)i, values[i]);
    }
    plan.sealed = true;
    return plan;
}

char *claims_text(const struct plan *plan)
{
    static char *text;
    static size_t size;
    FILE *out = open_memstream(&text, &size);

    plan_print(plan, out);
    (void)fclose(out);
    return text;
}

/* ---- the server ---- */

struct config claims_plain_config(void)
{
    static struct config config;

    config_init(&config);
    for (size_t i = 0; i < sizeof claims_world.ranks / sizeof *claims_world.ranks; i++)
        claims_world.ranks[i] = 20;
    claims_world.cores = (struct machine){claims_cores("0-1"), claims_cores("0-1"), claims_cores("")};
    claims_world.of_program = claims_cores("0-1");
    return config;
}

struct server *claims_start(const struct config *config)
{
    const struct server_host host = {.page_new = page_new,
                                     .page_free = page_free,
                                     .wake = wake,
                                     .boost = boost,
                                     .order = order,
                                     .strangers = strangers,
                                     .report = report,
                                     .machine = machine,
                                     .cores_of = cores_of,
                                     .limits_of = limits_of,
                                     .threads_on = threads_on,
                                     .is_realtime = is_realtime,
                                     .next_process = next_process,
                                     .realtime_of = realtime_of,
                                     .rank_of = rank_of};
    const struct server_start begin = {.generation = 1,
                                       .pid = 1,
                                       .settle = claims_world.settles,
                                       .about = ABOUT_BOOSTS,
                                       .now_at = NSEC_PER_SEC};
    struct server *server = NULL;

    claims_world.now_at = NSEC_PER_SEC;
    claims_world.logged[0] = 0;
    claims_world.joined = 0;
    claims_world.order_answer = 0;
    memset(claims_world.ordered, 0, sizeof claims_world.ordered);
    memset(claims_world.levels, 0, sizeof claims_world.levels);
    claims_world.strangers = 0;
    claims_world.adopts = false;
    ck_assert_int_eq(server_new(config, &host, &begin, &server), 0);
    return server;
}

void claims_give(struct server *server, const char *text)
{
    struct input_error error = {0};
    struct plan plan;

    ck_assert_msg(plan_read("p", text, strlen(text), &plan, &error) == 0, "line %u: expected %s, found %s",
                  error.line, error.expected, error.found);
    ck_assert_int_eq(server_set_plan(server, &plan, "p", claims_world.now_at), 0);
    plan_done(&plan);
}

void claims_say(struct server *server, unsigned peer, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(frame, bytes), claims_world.now_at), 0);
}

unsigned claims_join(struct server *server, const char *name, uint32_t flags, baton_nsec period)
{
    const struct credentials who = {.pid = CLAIMS_CLIENT +
                                           (flags & HELLO_MONITOR ? 0 : (pid_t)claims_world.joined++),
                                    .uid = 0,
                                    .gid = 0};
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION, .flags = flags, .period = (uint64_t)period}};
    unsigned peer = 0;

    (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", name);
    ck_assert_int_eq(server_accept(server, &who, claims_world.now_at, &peer), 0);
    claims_say(server, peer, &hello);
    return peer;
}

bool claims_dies(struct server *server, unsigned peer)
{
    *(uint32_t *)(void *)&claims_world.pages[peer]->owner |= FUTEX_OWNER_DIED;
    return server_lost(server, peer, claims_world.now_at);
}

void claims_job_begins(struct server *server, unsigned peer, baton_nsec release_at)
{
    struct page *page = claims_world.pages[peer];

    ck_assert_uint_eq(page->job_mark % 2, 0);
    page->released_at = release_at;
    page->job_mark++;
    claims_say(server, peer, &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_SAID}});
}

void claims_job_ends(struct server *server, unsigned peer)
{
    struct page *page = claims_world.pages[peer];

    ck_assert_uint_eq(page->job_mark % 2, 1);
    page->job_mark++;
    claims_say(server, peer, &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_ENDS}});
}

/* One question of a monitor, which comes for it and goes. */
struct frame claims_ask(struct server *server, enum query_what what, uint32_t index)
{
    struct frame query = {.type = FRAME_QUERY, .query = {.what = what, .index = index}};
    unsigned peer = claims_join(server, "", HELLO_MONITOR, 0);
    struct frame answer = {0};
    const uint8_t *bytes;
    size_t used;

    claims_world.now_at += NSEC_PER_SEC / 4;
    server_sent(server, peer, server_pending(server, peer, &bytes));
    claims_say(server, peer, &query);
    ck_assert_int_eq(frame_decode(bytes, server_pending(server, peer, &bytes), &answer, &used), 0);
    (void)server_lost(server, peer, claims_world.now_at);
    return answer;
}

enum model_rule claims_rule_of(struct server *server, uint32_t task)
{
    struct frame answer = claims_ask(server, QUERY_TASK, task);

    ck_assert_int_eq(answer.type, FRAME_ABOUT_TASK);
    return (enum model_rule)answer.about_task.rule;
}

enum model_rule claims_rule(struct server *server)
{
    return claims_rule_of(server, 0);
}

void claims_expect_rules(struct server *server, enum model_rule of_eye, enum model_rule of_ear)
{
    ck_assert_uint_eq(claims_rule_of(server, 0), of_eye);
    ck_assert_uint_eq(claims_rule_of(server, 1), of_ear);
}

void claims_say_late(struct server *server, unsigned peer, baton_nsec release_at, baton_nsec bound)
{
    struct frame late = {.type = FRAME_LATE,
                         .late = {.flags = LATE_EXCEEDED,
                                  .release_at = (uint64_t)release_at,
                                  .end_at = (uint64_t)(release_at + bound + 1),
                                  .limit = (uint64_t)bound}};

    claims_say(server, peer, &late);
}

void claims_disturb(struct server *server)
{
    unsigned outsider = claims_join(server, "hog", 0, 0);

    (void)claims_dies(server, outsider);
    ck_assert(!server_has(server, outsider));
}

/* Is there a difference in this field (of this task)? *ret_n: of how many. */
bool claims_differs(struct server *server, const char *field, const char *task, struct frame *ret_frame)
{
    for (uint32_t i = 0;; i++) {
        *ret_frame = claims_ask(server, QUERY_DIFFERENCE, i);
        if (ret_frame->type != FRAME_ABOUT_DIFFERENCE)
            return false;
        if (strcmp(ret_frame->about_difference.field, field) == 0 &&
            strcmp(ret_frame->about_difference.task, task) == 0)
            return true;
    }
}

void claims_expect_unclaimed(struct server *server, const char *field, const char *task)
{
    struct frame frame;
    char line[64];

    ck_assert_msg(claims_rule(server) == RULE_BASIS, "%s: the bound is still claimed", field);
    ck_assert_msg(claims_differs(server, field, task, &frame), "%s is not named", field);
    (void)snprintf(line, sizeof line, "%s\n", field);
    ck_assert_msg(strstr(claims_world.logged, line), "%s is not in the log", field);
}

/* ---- gpusync ---- */

struct plan_task claims_gpusync_tasks[2];

struct plan claims_gpusync_plan(void)
{
    struct plan plan = claims_good_plan();

    plan.analysis = plan.profile = "gpusync";
    for (unsigned i = 0; i < 2; i++) {
        claims_gpusync_tasks[i] = claims_tasks[i];
        claims_gpusync_tasks[i].gpu_cluster = claims_gpusync_tasks[i].cpu_cluster = i;
        claims_gpusync_tasks[i].has_point = true;
        claims_gpusync_tasks[i].point = PERIOD / 2;
        claims_gpusync_tasks[i].cost = 3600 * NSEC_PER_SEC; /* for tests in which jobs wait for questions */
        claims_gpusync_tasks[i].budget = PERIOD / 4;
        claims_gpusync_tasks[i].requests.said = true;
        plan_requests_add(&claims_gpusync_tasks[i].requests, REQUEST_EXECUTION, NSEC_PER_MS, 2);
    }
    plan.tasks = claims_gpusync_tasks;
    plan_basis_set(&plan.basis, BASIS_POLICY, "fair-lateness");
    plan_basis_set(&plan.basis, BASIS_LOCK, "r2dglp");
    plan_basis_set(&plan.basis, BASIS_DONATION, "cpus");
    plan_basis_set(&plan.basis, BASIS_TOKENS, "2");
    plan_basis_set(&plan.basis, BASIS_CPUS, "4");
    plan_basis_set(&plan.basis, BASIS_CPU_CLUSTER, "2");
    plan_basis_set(&plan.basis, BASIS_GPUS, "4");
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "2");
    plan_basis_set(&plan.basis, BASIS_MIGRATION, "system");
    return plan;
}

struct config claims_gpusync_config(void)
{
    struct config config = claims_plain_config();

    memset(claims_world.ranks, 0, sizeof claims_world.ranks); /* batond gives them levels */
    config.profile = PROFILE_GPUSYNC;
    config.policy = POLICY_FAIR_LATENESS;
    config.gpu_cluster = 2;
    config.cpu_cluster = 2;
    config.migration = MIGRATION_SYSTEM;
    config.partitioned = true;
    config.device_cores = claims_cores("4");
    config.program_cores = claims_cores("0-3");
    claims_world.cores = (struct machine){claims_cores("0-4"), claims_cores("0-3"), claims_cores("4")};
    claims_world.of_program = claims_cores("0-1");
    return config;
}

struct server *claims_gpusync_start(const struct config *config, const struct plan *plan, char **ret_text)
{
    static const char *const gpus[] = {GPU, "pci:0000:02:00.0", "pci:0000:03:00.0", "pci:0000:04:00.0"};
    struct server *server = claims_start(config);

    *ret_text = claims_text(plan);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(server_add_device(server, gpus[i], "a GPU"), 0);
    claims_give(server, *ret_text);
    return server;
}

void claims_names_thread(struct server *server, unsigned peer, uint32_t tid)
{
    claims_say(server, peer, &(struct frame){.type = FRAME_THREAD, .thread = {.tid = tid}});
}

void claims_has_a_job(struct server *server, unsigned peer)
{
    claims_job_begins(server, peer, claims_world.now_at);
    claims_job_ends(server, peer);
}

unsigned claims_join_ordered(struct server *server, const char *name)
{
    unsigned peer = claims_join(server, name, HELLO_TASK, PERIOD);

    claims_names_thread(server, peer, 1);
    claims_has_a_job(server, peer);
    claims_world.now_at += PERIOD;
    return peer;
}
