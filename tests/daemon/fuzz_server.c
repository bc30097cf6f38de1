/*
 * Any bytes from several clients, any values in their pages, any order of losses and exits: the
 * server neither crashes nor loops, and in the end every slot is given back. The input is a
 * program: opcode, client, operand.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/server.h"
#include "fuzz.h"
#include "wire/frame.h"

#define PEERS 4

struct fuzz_host {
    bool asked; /* the server waits for a planner */
    struct page *pages[64];
};

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct fuzz_host *host = user;

    host->pages[peer] = *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    ((struct fuzz_host *)user)->pages[peer] = NULL;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user;
    (void)pid;
    (void)threads;
    (void)n;
    (void)priority;
}

static void report(void *user, const struct server_report *what)
{
    (void)user;
    (void)what;
}

/* Answers come from the input too. */
static int plan(void *user, const char *file, const char *text, size_t size)
{
    struct fuzz_host *host = user;

    (void)file;
    (void)text;
    (void)size;
    host->asked = true;
    return 0;
}

static int reload(void *user, char *ret_text, size_t size)
{
    (void)user;
    (void)ret_text;
    (void)size;
    return 0;
}

struct actor {
    bool connected, there;
    unsigned slot;
};

struct input {
    const uint8_t *at, *end;
};

static uint8_t next(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static void drop_dirty(struct server *server, struct actor *actors, baton_nsec now_at)
{
    unsigned slot;
    bool drop;

    while (server_next_dirty(server, &slot, &drop)) {
        const uint8_t *bytes;

        server_sent(server, slot, server_pending(server, slot, &bytes));
        for (unsigned i = 0; drop && i < PEERS; i++) {
            if (actors[i].connected && actors[i].slot == slot) {
                actors[i].connected = false;
                actors[i].there = server_lost(server, slot, now_at);
                break;
            }
        }
    }
}

/*
 * A frame of a likely type with the input's bytes as payload, so that most inputs get past the
 * header.
 */
/* The frame says what the input has. */
static void fill_frame(struct frame *frame, struct input *input)
{
    switch (frame->type) {
    case FRAME_HELLO:
        frame->hello = (struct frame_hello){.version = next(input) % 8 ? FRAME_VERSION : 1,
                                            .priority = next(input),
                                            .flags = next(input) % 4,
                                            .key = next(input) % 3};
        frame->hello.name[0] = (char)(frame->hello.key ? 'a' + frame->hello.key - 1 : 0);
        break;
    case FRAME_ADMIT:
        frame->admit.task[0] = (char)('a' + next(input) % 3);
        break;
    case FRAME_TAKEN:
        frame->taken.serial = next(input) % 4;
        break;
    case FRAME_LATE:
        frame->late = (struct frame_late){.flags = next(input) % 5,
                                          .end_at = (uint64_t)next(input) << (next(input) % 57),
                                          .limit = next(input)};
        break;
    case FRAME_ATTACH:
        frame->attach = (struct frame_attach){.index = next(input) % 40,
                                              .engine = next(input) % 4,
                                              .busy = next(input) % 2,
                                              .epoch = next(input) % 4};
        memcpy(frame->attach.device, "test:0", 7);
        frame->attach.device[5] = (char)('0' + next(input) % 12);
        break;
    case FRAME_GROUP:
    case FRAME_GROUP_RELEASE:
        frame->group = (struct frame_group){.leases = next(input), .epoch = next(input) % 4};
        break;
    case FRAME_PLACE:
        frame->place = (struct frame_place){.n = next(input) % 40,
                                            .leases = next(input) * UINT32_C(0x01010101),
                                            .home = next(input) % 40,
                                            .bytes = (uint64_t)next(input) << (next(input) % 57),
                                            .work = (uint64_t)next(input) << (next(input) % 57)};
        break;
    case FRAME_MOVED:
        frame->moved = (struct frame_moved){.from = next(input) % 40,
                                            .to = next(input) % 40,
                                            .bytes = (uint64_t)next(input) << (next(input) % 57),
                                            .length = (uint64_t)next(input) << (next(input) % 57)};
        break;
    default: /* the first two words decide in all others */
        frame->release = (struct frame_release){
            .index = next(input) % 40, .epoch = next(input) % 4, .next = next(input) % 4};
        break;
    }
}

static void send_frame(struct server *server, const struct actor *actor, struct input *input,
                       baton_nsec now_at)
{
    static const enum frame_type types[] = {FRAME_HELLO,    FRAME_ATTACH, FRAME_REQUEST, FRAME_RELEASE,
                                            FRAME_PRIORITY, FRAME_THREAD, FRAME_JOB,     FRAME_GOODBYE,
                                            FRAME_QUERY,    FRAME_RELOAD, FRAME_WELCOME};
    struct frame frame;
    uint8_t bytes[FRAME_MAX_SIZE];
    uint8_t kind = next(input);

    memset(&frame, 0, sizeof frame);
    frame.type = types[kind % (sizeof types / sizeof types[0])];
    if (kind >= 224) /* above the rest, so that older inputs keep their meaning */
        frame.type = kind % 2 ? FRAME_GROUP : FRAME_GROUP_RELEASE;
    if (kind >= 208 && kind < 224)
        frame.type = kind % 2 ? FRAME_PLACE : FRAME_MOVED;
    if (kind >= 192 && kind < 208)
        frame.type = kind % 3 == 0 ? FRAME_ADMIT : kind % 3 == 1 ? FRAME_TAKEN : FRAME_LATE;
    fill_frame(&frame, input);
    (void)server_receive(server, actor->slot, bytes, frame_encode(&frame, bytes), now_at);
}

static void scribble(struct page *page, struct input *input)
{
    unsigned lease = next(input) % PAGE_LEASES;

    atomic_store(&page->leases[lease].word, (uint64_t)next(input) | (uint64_t)next(input) << 32);
    atomic_store(&page->leases[lease].tell, next(input));
    atomic_store(&page->runs_written, (uint64_t)next(input) << (next(input) % 57));
    atomic_store(&page->apart, (int64_t)atomic_load(&page->runs_written) - 1);
}

/* What the planner says, if it was asked: the input's own bytes, or something that makes sense. */
static void answer_planner(struct server *server, struct fuzz_host *host, struct input *input,
                           baton_nsec now_at)
{
    static const char plan[] = "analysis: holistic\nprofile: priority\ntasks:\n"
                               "  - {name: a, priority: 60, bound_ms: 5}\n  - {name: b, priority: 20}\n";
    static const char object[] =
        "{\"tasks\": [{\"name\": \"b\", \"response_ms\": 40, \"deadline_ms\": 30.0}]}";
    uint8_t kind = next(input);
    char raw[64];
    struct planning planning = {.late = kind % 8 == 7,
                                .status = kind / 8 % 4 - 1,
                                .object = object,
                                .object_size = sizeof object - 1,
                                .plan = plan,
                                .plan_size = sizeof plan - 1,
                                .cost = kind};

    if (!host->asked)
        return;
    host->asked = false;
    if (kind >= 128) {
        for (size_t i = 0; i < sizeof raw; i++)
            raw[i] = (char)next(input);
        planning.object = planning.plan = raw;
        planning.object_size = planning.plan_size = kind % sizeof raw;
    }
    server_planned(server, &planning, now_at);
}

static void step(struct server *server, struct fuzz_host *host, struct actor *actors, struct input *input,
                 baton_nsec *now_at)
{
    uint8_t op = next(input);
    unsigned who = next(input) % PEERS;
    struct actor *actor = &actors[who];
    struct credentials credentials = {100 + (pid_t)(who / 2), who, who, who % 2};
    uint8_t raw[64];

    switch (op % 8) {
    case 0:
        if (!actor->there && server_accept(server, &credentials, *now_at, &actor->slot) == 0)
            actor->there = actor->connected = true;
        break;
    case 1:
    case 2:
    case 3:
        if (actor->connected)
            send_frame(server, actor, input, *now_at);
        break;
    case 4:
        if (actor->there && host->pages[actor->slot])
            scribble(host->pages[actor->slot], input);
        break;
    case 5:
        if (actor->connected) {
            actor->connected = false;
            actor->there = server_lost(server, actor->slot, *now_at);
        }
        break;
    case 6:
        if (actor->there && server_has(server, actor->slot))
            server_exited(server, actor->slot, *now_at);
        break;
    default:
        for (size_t i = 0; i < sizeof raw; i++)
            raw[i] = next(input);
        if (actor->connected)
            (void)server_receive(server, actor->slot, raw, 1 + op / 8, *now_at);
        break;
    }
    if (op >= 240)
        answer_planner(server, host, input, *now_at);
    *now_at += op * NSEC_PER_MS / 4;
    if (server_next_at(server) <= *now_at)
        server_tick(server, *now_at);
    drop_dirty(server, actors, *now_at);
    for (unsigned i = 0; i < PEERS; i++)
        actors[i].there = actors[i].there && server_has(server, actors[i].slot);
}

static void give_tasks(struct server *server, baton_nsec now_at)
{
    static const char text[] = "platform: {cpus: 2, gpus: 1}\ntasks:\n"
                               "  - {name: a, period_ms: 10, segments: [{kernel_ms: 1}]}\n"
                               "  - {name: b, period_ms: 20, segments: [{kernel_ms: 1}]}\n";
    struct input_error error;
    struct task_set set;

    if (task_set_read("tasks", text, sizeof text - 1, &set, &error) != 0 ||
        server_set_tasks(server, &set, "tasks", now_at) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config config;
    struct fuzz_host host = {0};
    struct server_host calls = {.user = &host,
                                .page_new = page_new,
                                .page_free = page_free,
                                .wake = wake,
                                .boost = boost,
                                .report = report,
                                .reload = reload,
                                .plan = plan};
    struct server_start start = {.generation = 1, .pid = 1, .settle = true, .now_at = NSEC_PER_SEC};
    struct actor actors[PEERS] = {0};
    struct input input = {data, data + (size < 4096 ? size : 4096)};
    baton_nsec now_at = start.now_at;
    struct server *server;

    config_init(&config);
    config.clients = 8;
    config.devices = 3;
    config.profile = (enum sched_profile_id)(next(&input) % SCHED_PROFILES);
    config.policy = (enum sched_policy_id)(next(&input) % SCHED_POLICIES);
    config.admission = (enum admission_mode)(size % 3);
    if (server_new(&config, &calls, &start, &server) != 0)
        abort();
    give_tasks(server, now_at);
    while (input.at < input.end)
        step(server, &host, actors, &input, &now_at);
    for (unsigned i = 0; i < PEERS; i++) {
        if (actors[i].connected)
            actors[i].there = server_lost(server, actors[i].slot, now_at);
        if (actors[i].there && server_has(server, actors[i].slot))
            server_exited(server, actors[i].slot, now_at);
    }
    if (server_peers(server) != 0)
        abort();
    server_free(server);
    return 0;
}
