#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "wire/device_name.h"
#include "wire/frame.h"
#include "wire/lease_word.h"
#include "wire/outbox.h"
#include "wire/notice.h"
#include "wire/page.h"

/* ---- frames ---- */

static const unsigned all_types[] = {
#define FRAME(identifier, number, name) number,
#define FIELD(type, name)
#define TEXT(name, size)
#define COUNTS(name, n)
#define RECORDS(name, n)
#define END(identifier, name)
#include "wire/frames.def"
#undef FRAME
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END
};
#define N_TYPES (sizeof all_types / sizeof all_types[0])

START_TEST(a_request_is_sixteen_bytes_little_endian)
{
    /* size 8, type 3, zero; index 5; epoch 0x01020304 */
    static const uint8_t expected[] = {8, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 4, 3, 2, 1};
    struct frame frame = {.type = FRAME_REQUEST, .request = {.index = 5, .epoch = 0x01020304}};
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_uint_eq(frame_encode(&frame, bytes), sizeof expected);
    ck_assert_mem_eq(bytes, expected, sizeof expected);
}
END_TEST

START_TEST(a_hello_carries_its_name_padded_with_zeros)
{
    /* 4 x u32 + 3 x u64 + 64 = 104 bytes of payload; the name begins at 8 + 40 */
    struct frame frame = {.type = FRAME_HELLO, .hello = {.version = 1, .priority = 80, .name = "detector"}};
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(&frame, bytes);
    struct frame back;
    size_t used;

    ck_assert_uint_eq(n, 8 + 104);
    ck_assert_mem_eq(bytes + 8 + 40, "detector\0\0", 10);
    ck_assert_int_eq(frame_decode(bytes, n, &back, &used), 0);
    ck_assert_str_eq(back.hello.name, "detector");
    ck_assert_uint_eq(back.hello.priority, 80);
}
END_TEST

/*
 * The header of a type with its right size, then random payload; texts are made of zeros so that
 * they are ended.
 */
static size_t random_bytes_of(struct random_state *random, unsigned type, uint8_t *bytes)
{
    struct frame zero;
    size_t n;

    memset(&zero, 0, sizeof zero);
    zero.type = (enum frame_type)type;
    n = frame_encode(&zero, bytes);
    for (size_t i = FRAME_HEADER_SIZE; i < n; i++)
        bytes[i] = (uint8_t)random_u64(random);
    return n;
}

START_TEST(what_decodes_encodes_to_the_same_bytes)
{
    struct random_state random;
    unsigned decoded = 0;

    random_init(&random, 7, 0);
    for (unsigned round = 0; round < 200; round++) {
        for (size_t t = 0; t < N_TYPES; t++) {
            uint8_t bytes[FRAME_MAX_SIZE];
            uint8_t again[FRAME_MAX_SIZE];
            size_t n = random_bytes_of(&random, all_types[t], bytes);
            struct frame frame;
            size_t used;
            int result = frame_decode(bytes, n, &frame, &used);

            if (result == FRAME_BAD) /* a text that is not ended properly */
                continue;
            ck_assert_int_eq(result, 0);
            ck_assert_uint_eq(used, n);
            ck_assert_uint_eq(frame_encode(&frame, again), n);
            ck_assert_mem_eq(again, bytes, n);
            decoded++;
        }
    }
    ck_assert_uint_gt(decoded, 1000);
}
END_TEST

START_TEST(every_proper_prefix_of_a_frame_is_partial)
{
    for (size_t t = 0; t < N_TYPES; t++) {
        struct frame frame;
        uint8_t bytes[FRAME_MAX_SIZE];
        size_t n;
        size_t used;

        memset(&frame, 0, sizeof frame);
        frame.type = (enum frame_type)all_types[t];
        n = frame_encode(&frame, bytes);
        for (size_t cut = 0; cut < n; cut++) {
            uint8_t *exact = malloc(cut ? cut : 1); /* so that a sanitizer sees any byte read past it */
            struct frame out;

            memcpy(exact, bytes, cut);
            ck_assert_int_eq(frame_decode(exact, cut, &out, &used), FRAME_PARTIAL);
            free(exact);
        }
    }
}
END_TEST

START_TEST(a_size_that_is_not_the_types_own_is_bad)
{
    uint8_t bytes[FRAME_MAX_SIZE] = {9, 0, 0, 0, FRAME_REQUEST, 0, 0, 0};
    struct frame frame;
    size_t used;

    ck_assert_int_eq(frame_decode(bytes, sizeof bytes, &frame, &used), FRAME_BAD);
    bytes[0] = 8;
    ck_assert_int_eq(frame_decode(bytes, sizeof bytes, &frame, &used), 0);
    bytes[6] = 1; /* the reserved half */
    ck_assert_int_eq(frame_decode(bytes, sizeof bytes, &frame, &used), FRAME_BAD);
    bytes[6] = 0;
    bytes[4] = 200; /* no such type */
    ck_assert_int_eq(frame_decode(bytes, 8, &frame, &used), FRAME_BAD);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_int_eq(frame_decode(bytes, 8, &frame, &used), FRAME_BAD);
}
END_TEST

START_TEST(a_text_with_bytes_behind_its_end_is_bad)
{
    struct frame frame = {.type = FRAME_ATTACH, .attach = {.device = "a:0"}};
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(&frame, bytes);
    size_t used;

    bytes[n - 1] = 'x';
    ck_assert_int_eq(frame_decode(bytes, n, &frame, &used), FRAME_BAD);
}
END_TEST

START_TEST(an_outbox_refuses_what_does_not_fit_and_loses_nothing)
{
    static struct outbox outbox;
    struct frame frame = {.type = FRAME_REQUEST};
    const uint8_t *bytes;
    uint32_t put = 0;
    uint32_t got = 0;

    outbox_init(&outbox);
    for (unsigned round = 0; round < 3; round++) {
        for (frame.request.epoch = put; outbox_put(&outbox, &frame) == 0; frame.request.epoch = ++put)
            ;
        ck_assert_uint_eq(put - got, OUTBOX_SIZE / 16); /* 16 bytes each */
        while (got + 100 < put) {
            struct frame back;
            size_t used;

            ck_assert_int_eq(frame_decode(bytes = outbox.bytes + outbox.begin,
                                          outbox_pending(&outbox, &bytes), &back, &used),
                             0);
            ck_assert_uint_eq(back.request.epoch, got++);
            outbox_drop(&outbox, used);
        }
    }
}
END_TEST

/* ---- lease words ---- */

START_TEST(a_lease_goes_round_without_a_message)
{
    lease_word word = lease_word_make(LEASE_STATE_IDLE, 0, 7, 3);
    uint64_t seen;

    ck_assert(lease_word_begin(&word, &seen));
    ck_assert_uint_eq(atomic_load(&word), lease_word_make(LEASE_STATE_BUSY, 0, 7, 3));
    ck_assert(!lease_word_begin(&word, &seen));
    ck_assert(lease_word_keep(&word));
    ck_assert_uint_eq(atomic_load(&word), lease_word_make(LEASE_STATE_IDLE, 0, 7, 3));
    ck_assert(!lease_word_keep(&word));
}
END_TEST

START_TEST(an_idle_lease_is_ended_and_cannot_begin)
{
    lease_word word = lease_word_make(LEASE_STATE_IDLE, 0, 7, 3);
    uint64_t seen;

    ck_assert_int_eq(lease_word_call_in(&word, LEASE_FLAG_WANTED), LEASE_CALLED_TAKEN);
    ck_assert(!lease_word_begin(&word, &seen));
    ck_assert_int_eq(lease_word_state(seen), LEASE_STATE_NONE);
    ck_assert_int_eq(lease_word_call_in(&word, LEASE_FLAG_WANTED), LEASE_CALLED_GONE);
}
END_TEST

START_TEST(a_busy_lease_is_flagged_and_must_be_given_back)
{
    lease_word word = lease_word_make(LEASE_STATE_BUSY, 0, 0xffffff, UINT32_MAX);

    ck_assert_int_eq(lease_word_call_in(&word, LEASE_FLAGS), LEASE_CALLED_BUSY);
    ck_assert(!lease_word_keep(&word));
    ck_assert_uint_ne(atomic_load(&word) & LEASE_FLAG_YIELD, 0);
    lease_word_give(&word);
    ck_assert_uint_eq(atomic_load(&word), lease_word_make(LEASE_STATE_NONE, 0, 0xffffff, UINT32_MAX));
    ck_assert_uint_eq(lease_word_generation(atomic_load(&word)), 0xffffff);
    ck_assert_uint_eq(lease_word_epoch(atomic_load(&word)), UINT32_MAX);
}
END_TEST

START_TEST(a_turn_is_a_flag_of_its_own_and_ends_with_the_hold)
{
    lease_word word = lease_word_make(LEASE_STATE_BUSY, LEASE_FLAG_WANTED, 7, 3);

    ck_assert_uint_eq(atomic_load(&word) & LEASE_FLAG_TURN, 0); /* a less urgent client waits */
    ck_assert_int_eq(lease_word_call_in(&word, LEASE_ASK_TURN), LEASE_CALLED_BUSY);
    ck_assert_uint_eq(atomic_load(&word),
                      lease_word_make(LEASE_STATE_BUSY, LEASE_FLAG_WANTED | LEASE_FLAG_TURN, 7, 3));
    ck_assert(!lease_word_keep(&word));
    lease_word_give(&word);
    ck_assert_uint_eq(atomic_load(&word), lease_word_make(LEASE_STATE_NONE, 0, 7, 3));
    lease_word_grant(&word, 0, 7, 4);
    ck_assert_uint_eq(atomic_load(&word) & LEASE_FLAGS, 0);
    ck_assert(lease_word_keep(&word));
    ck_assert_int_eq(lease_word_call_in(&word, LEASE_ASK_TURN), LEASE_CALLED_TAKEN);
    ck_assert_uint_eq(atomic_load(&word), lease_word_make(LEASE_STATE_NONE, 0, 7, 4));
}
END_TEST

/* Two real threads on one word: a thread that believes to have the engine must be alone. */
struct duel {
    lease_word word;
    _Atomic unsigned requests, releases; /* the socket, as counters */
    _Atomic int inside;
    _Atomic bool stop;
    _Atomic unsigned collisions;
    unsigned kept, given, taken, called;
};

static void work(struct duel *duel)
{
    if (atomic_fetch_add(&duel->inside, 1) != 0)
        (void)atomic_fetch_add(&duel->collisions, 1);
    for (volatile int i = 0; i < 20; i++)
        ;
    (void)atomic_fetch_sub(&duel->inside, 1);
}

static void *duel_client(void *argument)
{
    struct duel *duel = argument;
    uint64_t seen;

    while (!atomic_load(&duel->stop)) {
        if (!lease_word_begin(&duel->word, &seen)) {
            (void)atomic_fetch_add(&duel->requests, 1);
            while (lease_word_state(atomic_load(&duel->word)) != LEASE_STATE_BUSY &&
                   !atomic_load(&duel->stop))
                ;
            if (atomic_load(&duel->stop))
                break;
        }
        work(duel);
        if (lease_word_keep(&duel->word)) {
            duel->kept++;
        } else {
            lease_word_give(&duel->word);
            (void)atomic_fetch_add(&duel->releases, 1);
            duel->given++;
        }
    }
    return NULL;
}

START_TEST(client_and_daemon_are_never_inside_together)
{
    static struct duel duel;
    pthread_t thread;
    unsigned rounds = (unsigned)harness_scale(20000, 2000000);
    unsigned answered = 0;
    unsigned returned = 0;

    atomic_store(&duel.word, lease_word_make(LEASE_STATE_NONE, 0, 1, 0));
    ck_assert_int_eq(pthread_create(&thread, NULL, duel_client, &duel), 0);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned wanted;

        while ((wanted = atomic_load(&duel.requests)) == answered)
            ;
        answered = wanted;
        lease_word_grant(&duel.word, i % 3 == 0 ? LEASE_FLAG_WANTED : 0, 1, answered);
        for (int spin = 0; spin < (int)(i % 64); spin++)
            atomic_thread_fence(memory_order_seq_cst);
        switch (lease_word_call_in(
            &duel.word, (const uint64_t[]){LEASE_FLAGS, LEASE_FLAG_WANTED, LEASE_ASK_TURN}[i % 3])) {
        case LEASE_CALLED_BUSY:
            duel.called++;
            while (atomic_load(&duel.releases) == returned)
                ;
            break;
        case LEASE_CALLED_TAKEN:
            duel.taken++;
            break;
        case LEASE_CALLED_GONE:
            break;
        }
        while (lease_word_state(atomic_load(&duel.word)) != LEASE_STATE_NONE)
            ;
        work(&duel); /* the other thread's turn */
        returned = atomic_load(&duel.releases);
    }
    atomic_store(&duel.stop, true);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(atomic_load(&duel.collisions), 0);
    ck_assert_uint_gt(duel.called + duel.given, 100);
}
END_TEST

/* ---- names and pages ---- */

START_TEST(device_names_are_stable_and_plain)
{
    char name[DEVICE_NAME_SIZE];

    device_name_indexed("Portable Computing Language", 1, name);
    ck_assert_str_eq(name, "portable-computing-language:1");
    device_name_indexed("  NVIDIA (R)  CUDA ", 0, name);
    ck_assert_str_eq(name, "nvidia-r-cuda:0");
    device_name_indexed("", 3, name);
    ck_assert_str_eq(name, "device:3");
    device_name_pci(0, 0x41, 0, 1, name);
    ck_assert_str_eq(name, "pci:0000:41:00.1");
    ck_assert(device_name_valid(name));
    ck_assert(!device_name_valid(""));
    ck_assert(!device_name_valid("a b"));
    ck_assert(!device_name_valid("../x"));
    ck_assert(device_name_valid("0123456789012345678901234567890123456789012345678901234567890123"));
    ck_assert(!device_name_valid("01234567890123456789012345678901234567890123456789012345678901234"));
}
END_TEST

START_TEST(the_ring_of_runs_keeps_the_newest)
{
    struct page *page = aligned_alloc(64, PAGE_SIZE_BYTES);

    memset(page, 0, PAGE_SIZE_BYTES);
    page_init(page, 4, 9);
    for (int64_t i = 0; i < PAGE_RUNS + 10; i++)
        page_ran(page, &(struct page_entry){
                           .lease = 2, .job = (uint32_t)i, .begin_at = i * 100, .end_at = i * 100 + 50});
    ck_assert_uint_eq(atomic_load(&page->runs_written), PAGE_RUNS + 10);
    ck_assert_int_eq(atomic_load(&page->runs[9].begin_at), (PAGE_RUNS + 9) * 100);
    ck_assert_int_eq(atomic_load(&page->runs[10].begin_at), 1000); /* not yet overwritten */
    ck_assert_int_eq(lease_word_generation(atomic_load(&page->leases[31].word)), 4);
    free(page);
}
END_TEST

static struct page *fresh_page(void)
{
    struct page *page = aligned_alloc(64, PAGE_SIZE_BYTES);

    memset(page, 0, PAGE_SIZE_BYTES);
    page_init(page, 4, 9);
    return page;
}

START_TEST(a_kernel_keeps_its_number_and_the_table_never_overflows)
{
    struct page *page = fresh_page();
    char name[PAGE_KERNEL];
    char longest[2 * PAGE_KERNEL];

    ck_assert_uint_eq(page_kernel(page, "turn"), 1);
    ck_assert_uint_eq(page_kernel(page, "tur"), 2); /* a prefix is another name */
    ck_assert_uint_eq(page_kernel(page, "turn"), 1);
    ck_assert_uint_eq(page_kernel(page, ""), 0);
    memset(longest, 'k', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    ck_assert_uint_eq(page_kernel(page, longest), 3);
    ck_assert_uint_eq(page_kernel(page, longest), 3); /* cut the same way each time */
    ck_assert(page_kernel_name(page, 3, name));
    ck_assert_uint_eq(strlen(name), PAGE_KERNEL - 1);
    for (unsigned i = 3; i < PAGE_KERNELS; i++) {
        (void)snprintf(name, sizeof name, "kernel %u", i);
        ck_assert_uint_eq(page_kernel(page, name), i + 1);
    }
    ck_assert_uint_eq(page_kernel(page, "one too many"), 0);
    ck_assert(page_kernel_name(page, 1, name));
    ck_assert_str_eq(name, "turn");
    ck_assert(!page_kernel_name(page, 0, name));
    ck_assert(!page_kernel_name(page, PAGE_KERNELS + 1, name));
    /* A hostile client: more names than there is room for, and one without an end. */
    atomic_store(&page->n_kernels, UINT32_MAX);
    memset(page->kernels[1], 'x', PAGE_KERNEL);
    ck_assert(!page_kernel_name(page, PAGE_KERNELS + 1, name));
    ck_assert(page_kernel_name(page, 2, name));
    ck_assert_uint_eq(strlen(name), PAGE_KERNEL - 1);
    ck_assert_uint_eq(page_kernel(page, "turn"), 0);
    free(page);
}
END_TEST

START_TEST(times_are_counted_in_the_class_whose_limit_they_do_not_exceed)
{
    struct page_times times = {0};

    page_times_add(&times, 0);
    page_times_add(&times, 100000); /* 100 us is the first limit, and belongs to it */
    page_times_add(&times, 100001);
    page_times_add(&times, INT64_C(10000000000));
    page_times_add(&times, INT64_C(10000000001));
    ck_assert_uint_eq(atomic_load(&times.classes[0]), 2);
    ck_assert_uint_eq(atomic_load(&times.classes[1]), 1);
    ck_assert_uint_eq(atomic_load(&times.classes[PAGE_CLASSES - 2]), 1);
    ck_assert_uint_eq(atomic_load(&times.classes[PAGE_CLASSES - 1]), 1);
    ck_assert_uint_eq(atomic_load(&times.sum_ns),
                      UINT64_C(20000200002)); /* 0 + 1e5 + 1e5+1 + 1e10 + 1e10+1 */
    for (unsigned i = 1; i < PAGE_CLASSES - 1; i++)
        ck_assert_int_lt(page_class_limits[i - 1], page_class_limits[i]);
}
END_TEST

START_TEST(a_lease_sums_its_runs)
{
    struct page *page = fresh_page();

    page_ran(page, &(struct page_entry){.lease = 2, .begin_at = 100, .end_at = 350});
    page_ran(page, &(struct page_entry){.lease = 2, .begin_at = 400, .end_at = 450});
    page_ran(page, &(struct page_entry){.lease = 3, .begin_at = 400, .end_at = 401});
    page_ran(page, &(struct page_entry){.lease = PAGE_RUN_JOB, .begin_at = 0, .end_at = 1000}); /* no run */
    ck_assert_uint_eq(atomic_load(&page->leases[2].busy_ns), 300);
    ck_assert_uint_eq(atomic_load(&page->leases[3].busy_ns), 1);
    free(page);
}
END_TEST

START_TEST(every_notice_has_a_name_of_its_own_and_words)
{
    char kernel[65], detail[121], line[640];

    memset(kernel, 'k', sizeof kernel - 1);
    memset(detail, 'd', sizeof detail - 1);
    kernel[64] = detail[120] = 0;
    for (unsigned i = 0; i < NOTICE_N; i++) {
        const struct notice_words *words = &notice_table[i];

        ck_assert_ptr_eq(notice_find(words->name), words);
        ck_assert_uint_gt(strlen(words->sentence), 10);
        ck_assert_uint_gt(strlen(words->advice), 10);
        notice_line((enum notice)i, kernel, detail, line, sizeof line);
        ck_assert_msg(strstr(line, words->advice), "%s is cut short: %s", words->name, line);
        if (words->whole) /* the counter that goes with it */
            ck_assert_str_eq(page_why_whole(PAGE_COUNTER_UNSLICED_BINARY + i), words->name);
    }
    ck_assert_ptr_null(notice_find("no such reason"));
    for (unsigned i = 0; i < PAGE_COUNTER_N; i++) /* other counters stand for no reason */
        ck_assert((page_why_whole(i)[0] != 0) == (strncmp(page_counter_names[i], "unsliced:", 9) == 0));
}
END_TEST

HARNESS_MAIN("wire", 60, a_kernel_keeps_its_number_and_the_table_never_overflows,
             times_are_counted_in_the_class_whose_limit_they_do_not_exceed, a_lease_sums_its_runs,
             every_notice_has_a_name_of_its_own_and_words, a_request_is_sixteen_bytes_little_endian,
             a_hello_carries_its_name_padded_with_zeros, what_decodes_encodes_to_the_same_bytes,
             every_proper_prefix_of_a_frame_is_partial, a_size_that_is_not_the_types_own_is_bad,
             a_text_with_bytes_behind_its_end_is_bad, an_outbox_refuses_what_does_not_fit_and_loses_nothing,
             a_lease_goes_round_without_a_message, an_idle_lease_is_ended_and_cannot_begin,
             a_busy_lease_is_flagged_and_must_be_given_back,
             a_turn_is_a_flag_of_its_own_and_ends_with_the_hold, client_and_daemon_are_never_inside_together,
             device_names_are_stable_and_plain, the_ring_of_runs_keeps_the_newest)
