#include "lanes_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct lanes_scene scene;

/* ---- the host ---- */

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    (void)user;
    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    scene.pages[peer] = *ret_page;
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    (void)user, (void)peer;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user, (void)word;
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user, (void)pid, (void)threads, (void)n, (void)priority;
}

static void report(void *user, const struct server_report *what)
{
    (void)user;
    scene.overruns += what->kind == REPORT_OVERRUN;
    scene.excesses += what->kind == REPORT_REQUESTS;
}

static void end(void *user, unsigned peer)
{
    (void)user;
    scene.ended = (int)peer;
}

static void decided(void *user, const struct sched_decision *decision)
{
    (void)user;
    if (decision->action != SCHED_TOKEN)
        return;
    scene.tokens++;
    scene.token_gpu[decision->job] = decision->gpu;
}

/* ---- clients ---- */

void scene_hear(void)
{
    unsigned peer;
    bool drop;

    while (server_next_dirty(scene.server, &peer, &drop)) {
        const uint8_t *bytes;
        struct frame frame;
        size_t n = server_pending(scene.server, peer, &bytes);
        size_t used;

        for (size_t at = 0; at < n; at += used) {
            ck_assert_int_eq(frame_decode(bytes + at, n - at, &frame, &used), 0);
            if (frame.type != FRAME_PLACED)
                continue;
            scene.answered[peer] = true;
            scene.placed[peer] = frame.placed.leases;
        }
        server_sent(scene.server, peer, n);
    }
}

void scene_say(unsigned peer, struct frame frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(scene.server, peer, bytes, frame_encode(&frame, bytes), scene.now), 0);
    scene_hear();
}

void scene_wait_until(baton_nsec at)
{
    while (server_next_at(scene.server) <= at) {
        scene.now = server_next_at(scene.server) > scene.now ? server_next_at(scene.server) : scene.now;
        server_tick(scene.server, scene.now);
    }
    scene.now = at;
    scene_hear();
}

void scene_job(unsigned peer, uint32_t what, baton_nsec deadline_at)
{
    if (what == JOB_INFERRED || what == JOB_SAID)
        atomic_store(&scene.pages[peer]->used_ns, 0);
    scene_say(peer,
              (struct frame){.type = FRAME_JOB, .job = {.what = what, .deadline_at = (uint64_t)deadline_at}});
}

void scene_ask(unsigned peer, unsigned lease)
{
    scene_say(peer, (struct frame){.type = FRAME_REQUEST,
                                   .request = {.index = lease, .epoch = ++scene.epochs[peer]}});
}

bool scene_has(unsigned peer, unsigned lease)
{
    return lease_word_state(atomic_load(&scene.pages[peer]->leases[lease].word)) == LEASE_STATE_BUSY;
}

bool scene_is_asked_to_yield(unsigned peer, unsigned lease)
{
    return atomic_load(&scene.pages[peer]->leases[lease].word) & LEASE_FLAG_YIELD;
}

void scene_give(unsigned peer, unsigned lease, bool again)
{
    uint32_t epoch = lease_word_epoch(atomic_load(&scene.pages[peer]->leases[lease].word));

    atomic_store(&scene.pages[peer]->leases[lease].word, 0);
    scene_say(peer,
              (struct frame){
                  .type = FRAME_RELEASE,
                  .release = {.index = lease, .epoch = epoch, .next = again ? ++scene.epochs[peer] : 0}});
}

void scene_end(unsigned peer, unsigned lease)
{
    if (!lease_word_keep(&scene.pages[peer]->leases[lease].word))
        scene_give(peer, lease, false);
}

void scene_place_on(unsigned peer, uint32_t gpus)
{
    uint32_t leases = 0;

    for (uint32_t rest = gpus; rest; rest &= rest - 1)
        leases |= UINT32_C(1) << EXECUTION((unsigned)__builtin_ctz(rest));
    scene.answered[peer] = false;
    scene_say(peer, (struct frame){.type = FRAME_PLACE,
                                   .place = {.number = 1, .n = 1, .leases = leases, .home = FRAME_NO_LEASE}});
}

void scene_place(unsigned peer)
{
    scene_place_on(peer, 0xf);
}

int scene_placed(unsigned peer)
{
    return scene.answered[peer] && scene.placed[peer] ? __builtin_ctz(scene.placed[peer]) / ENGINE_N : -1;
}

static void connect_client(unsigned peer, const char *name, unsigned period_ms, uint32_t flags)
{
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION,
                                    .key = peer,
                                    .priority = 10 + peer,
                                    .flags = HELLO_TASK | flags,
                                    .period = (uint64_t)(period_ms * NSEC_PER_MS)}};
    const struct credentials who = {.pid = 1000 + (pid_t)peer};
    unsigned slot;

    (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", name);
    ck_assert_int_eq(server_accept(scene.server, &who, scene.now, &slot), 0);
    ck_assert_uint_eq(slot, peer);
    scene_say(peer, hello);
    for (unsigned i = 0; i < 4 * ENGINE_N; i++) {
        struct frame frame = {.type = FRAME_ATTACH, .attach = {.index = i, .engine = i % ENGINE_N}};

        (void)snprintf(frame.attach.device, sizeof frame.attach.device, "gpu:%u", i / ENGINE_N);
        scene_say(peer, frame);
    }
}

void scene_connect_client(unsigned peer, const char *name, unsigned period_ms)
{
    connect_client(peer, name, period_ms, 0);
}

void scene_connect_counting(unsigned peer, const char *name, unsigned period_ms)
{
    connect_client(peer, name, period_ms, HELLO_USED);
}

void scene_use(unsigned peer, baton_nsec length)
{
    (void)atomic_fetch_add(&scene.pages[peer]->used_ns, (uint64_t)length);
}

static void start(enum sched_profile_id profile, unsigned gpu_cluster, unsigned tokens_per_gpu,
                  enum overrun_mode overrun)
{
    const struct server_host host = {.page_new = page_new,
                                     .page_free = page_free,
                                     .wake = wake,
                                     .boost = boost,
                                     .report = report,
                                     .end = end,
                                     .decided = decided};
    const struct server_start begin = {.generation = 1, .pid = 1, .now_at = NOW};
    static struct config config;
    char name[16];

    memset(&scene, 0, sizeof scene);
    scene.now = NOW;
    scene.ended = -1;
    config_init(&config);
    config.profile = profile;
    config.policy = profile == PROFILE_GPUSYNC ? POLICY_EDF : POLICY_FIXED;
    config.clients = CLIENTS;
    config.devices = 4;
    config.gpu_cluster = gpu_cluster;
    config.tokens_per_gpu = tokens_per_gpu;
    config.overrun = overrun;
    ck_assert_int_eq(server_new(&config, &host, &begin, &scene.server), 0);
    for (unsigned gpu = 0; gpu < 4; gpu++) {
        (void)snprintf(name, sizeof name, "gpu:%u", gpu);
        ck_assert_int_eq(server_add_device(scene.server, name, "a GPU"), 0);
    }
}

void scene_start(unsigned gpu_cluster, unsigned tokens_per_gpu, enum overrun_mode overrun)
{
    start(PROFILE_GPUSYNC, gpu_cluster, tokens_per_gpu, overrun);
}

void scene_start_priority(enum overrun_mode overrun)
{
    start(PROFILE_PRIORITY, 1, 1, overrun);
}
