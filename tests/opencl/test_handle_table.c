#include "engine/handle_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "harness.h"

START_TEST(finds_what_was_put_and_forgets_what_was_removed)
{
    static struct handle_table table;
    static int records[5000];

    handle_table_init(&table, NULL);
    for (size_t i = 1; i < 5000; i++)
        ck_assert(handle_table_put(&table, (void *)(i * 16), &records[i]));
    for (size_t i = 1; i < 5000; i++)
        ck_assert_ptr_eq(handle_table_find(&table, (void *)(i * 16)), &records[i]);
    for (size_t i = 1; i < 5000; i += 2)
        ck_assert_ptr_eq(handle_table_remove(&table, (void *)(i * 16)), &records[i]);
    for (size_t i = 1; i < 5000; i++)
        ck_assert_ptr_eq(handle_table_find(&table, (void *)(i * 16)), i % 2 ? NULL : &records[i]);
    ck_assert_ptr_null(handle_table_find(&table, NULL));
    ck_assert_ptr_null(handle_table_remove(&table, (void *)8));
}
END_TEST

START_TEST(a_reused_address_gets_the_new_record)
{
    static struct handle_table table;
    int old, fresh;

    handle_table_init(&table, NULL);
    ck_assert(handle_table_put(&table, (void *)64, &old));
    ck_assert(handle_table_put(&table, (void *)64, &fresh));
    ck_assert_ptr_eq(handle_table_find(&table, (void *)64), &fresh);
    ck_assert_ptr_eq(handle_table_remove(&table, (void *)64), &fresh);
    ck_assert_ptr_null(handle_table_find(&table, (void *)64));
}
END_TEST

static struct handle_table shared;
static atomic_int kept;

static void keep(void *record)
{
    (void)record;
    atomic_fetch_add(&kept, 1);
}

static void *hammer(void *argument)
{
    uintptr_t base = (uintptr_t)argument << 20;
    int record;

    for (int round = 0; round < 20; round++) {
        for (uintptr_t i = 1; i < 500; i++)
            handle_table_put(&shared, (void *)(base + i * 8), &record);
        for (uintptr_t i = 1; i < 500; i++)
            if (handle_table_find(&shared, (void *)(base + i * 8)) != &record)
                return argument;
        for (uintptr_t i = 1; i < 500; i++)
            if (handle_table_remove(&shared, (void *)(base + i * 8)) != &record)
                return argument;
    }
    return NULL;
}

START_TEST(threads_do_not_disturb_each_other)
{
    pthread_t threads[4];
    void *bad = NULL;

    handle_table_init(&shared, keep);
    for (uintptr_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        ck_assert_ptr_null(bad);
    }
    ck_assert_int_eq(atomic_load(&kept), 4 * 20 * 499); /* every find kept its record once */
}
END_TEST

HARNESS_MAIN("handle table", 20, finds_what_was_put_and_forgets_what_was_removed,
             a_reused_address_gets_the_new_record, threads_do_not_disturb_each_other)
