/*
 * The parts of the driver below its calls: handles, the table of memory, scripts of failures,
 * containers, packed texts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "containers.h"
#include "cuda_abi/fatbin.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/inject.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/source.h"
#include "harness.h"

/* memory.c counts memory of pools through this; there are none here. */
void pool_freed(const struct memory_block *block)
{
    (void)block;
}

START_TEST(a_handle_is_of_its_kind_and_removed_once)
{
    int objects[3] = {0};

    ck_assert(handle_put(&objects[0], HANDLE_STREAM, NULL));
    ck_assert(handle_is(&objects[0], HANDLE_STREAM));
    ck_assert(!handle_is(&objects[0], HANDLE_EVENT));
    ck_assert(!handle_is(&objects[1], HANDLE_STREAM));
    ck_assert(!handle_is(NULL, HANDLE_STREAM));
    ck_assert(!handle_remove(&objects[0], HANDLE_EVENT));
    ck_assert(handle_remove(&objects[0], HANDLE_STREAM));
    ck_assert(!handle_remove(&objects[0], HANDLE_STREAM));
}
END_TEST

START_TEST(many_handles_come_and_go)
{
    enum { N = 5000 };
    static char objects[N];

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++)
            ck_assert(handle_put(&objects[i], i % 2 ? HANDLE_EVENT : HANDLE_NODE, NULL));
        for (int i = 0; i < N; i += 3)
            ck_assert(handle_remove(&objects[i], i % 2 ? HANDLE_EVENT : HANDLE_NODE));
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(handle_is(&objects[i], i % 2 ? HANDLE_EVENT : HANDLE_NODE), i % 3 != 0);
        for (int i = 0; i < N; i++)
            (void)handle_remove(&objects[i], i % 2 ? HANDLE_EVENT : HANDLE_NODE);
    }
}
END_TEST

START_TEST(an_owner_s_handles_are_taken_one_by_one)
{
    int owner = 0, other = 0, objects[4] = {0};

    ck_assert(handle_put(&objects[0], HANDLE_EVENT, &owner) && handle_put(&objects[1], HANDLE_EVENT, &owner));
    ck_assert(handle_put(&objects[2], HANDLE_EVENT, &other) && handle_put(&objects[3], HANDLE_ARRAY, &owner));
    ck_assert_ptr_nonnull(handle_take(&owner, HANDLE_EVENT));
    ck_assert_ptr_nonnull(handle_take(&owner, HANDLE_EVENT));
    ck_assert_ptr_null(handle_take(&owner, HANDLE_EVENT));
    ck_assert(handle_is(&objects[2], HANDLE_EVENT) && handle_is(&objects[3], HANDLE_ARRAY));
}
END_TEST

static struct memory_block block_of(enum memory_kind kind, uint64_t size)
{
    return (struct memory_block){.kind = kind, .size = size};
}

static void open_memory(void)
{
    struct space *space;

    ck_assert_int_eq(space_new(UINT64_C(1) << 30, &space), 0);
    memory_open(space, 1, 1 << 20);
}

START_TEST(memory_is_found_from_its_middle_and_counted)
{
    struct memory_block block = block_of(MEMORY_DEVICE, 1000), found;
    size_t used, all;

    open_memory();
    ck_assert_int_eq(memory_allocate(&block, 512), 0);
    ck_assert(memory_block_at(block.address + 999, &found));
    ck_assert_uint_eq(found.id, block.id);
    ck_assert(!memory_block_at(block.address + 1000, &found));
    ck_assert(memory_covers(block.address, 1000));
    ck_assert(!memory_covers(block.address, 1001));
    ck_assert(!memory_covers(block.address + 1, UINT64_MAX));
    ck_assert(memory_covers((uintptr_t)&block, sizeof block)); /* the program's own */
    memory_usage(0, &used, &all);
    ck_assert_uint_eq(used, 1000);
    block = block_of(MEMORY_DEVICE, (1 << 20) - 999);
    ck_assert_int_eq(memory_allocate(&block, 512), MEMORY_FULL);
}
END_TEST

START_TEST(a_free_in_stream_order_is_the_only_one_and_never_another_block_s)
{
    struct memory_block block = block_of(MEMORY_DEVICE, 64), again, gone;

    open_memory();
    ck_assert_int_eq(memory_allocate(&block, 512), 0);
    ck_assert_int_eq(memory_begin_free(block.address, &gone), 0);
    ck_assert_int_eq(memory_begin_free(block.address, &gone), MEMORY_UNKNOWN);
    ck_assert_int_eq(memory_remove(block.address, 1u << MEMORY_DEVICE, &gone), MEMORY_UNKNOWN);
    ck_assert_int_eq(memory_remove_id(block.address, block.id + 1, &again), MEMORY_UNKNOWN);
    ck_assert_int_eq(memory_remove_id(block.address, block.id, &again), 0);
    ck_assert_int_eq(memory_remove_id(block.address, block.id, &again), MEMORY_UNKNOWN);
}
END_TEST

START_TEST(registered_memory_may_not_overlap)
{
    static char bytes[4096];
    struct memory_block first = {.address = (uintptr_t)bytes, .size = 100, .kind = MEMORY_REGISTERED};
    struct memory_block second = {.address = (uintptr_t)bytes + 99, .size = 10, .kind = MEMORY_REGISTERED};

    open_memory();
    ck_assert_int_eq(memory_enter(&first), 0);
    ck_assert_int_eq(memory_enter(&second), MEMORY_OVERLAPS);
    second.address++;
    ck_assert_int_eq(memory_enter(&second), 0);
}
END_TEST

START_TEST(memory_of_a_graph_is_the_program_s_while_it_is_live)
{
    struct memory_block block = block_of(MEMORY_GRAPH, 64), found;

    open_memory();
    ck_assert_int_eq(memory_allocate(&block, 512), 0);
    ck_assert(!memory_set_live(block.address, false));
    ck_assert(memory_set_live(block.address, true));
    ck_assert(!memory_set_live(block.address, true));
    memory_end_graph(block.address, block.id); /* the node goes first */
    ck_assert(memory_block_at(block.address, &found));
    ck_assert_int_eq(found.kind, MEMORY_DEVICE);
}
END_TEST

START_TEST(a_script_makes_the_nth_call_fail)
{
    ck_assert_int_eq(inject_read("cuA:2:700,cuB:0:1"), 0);
    ck_assert_int_eq(inject_call("cuA"), 0);
    ck_assert_int_eq(inject_call("cuC"), 0);
    ck_assert_int_eq(inject_call("cuA"), 700);
    ck_assert_int_eq(inject_call("cuA"), 0);
    ck_assert_int_eq(inject_call("cuB"), 1);
    ck_assert_int_eq(inject_call("cuB"), 1);
    ck_assert_int_eq(inject_read("cuA"), -EINVAL);
    ck_assert_int_eq(inject_read("cuA:1"), -EINVAL);
    ck_assert_int_eq(inject_read("cuA:1:2x"), -EINVAL);
    ck_assert_int_eq(inject_read(",,,"), -EINVAL);
    ck_assert_int_eq(inject_read(NULL), 0);
    ck_assert_int_eq(inject_call("cuB"), 0);
}
END_TEST

static void check_container(const char *text, enum container_kind kind, int expected)
{
    struct container container = container_make(text, kind);
    char *found = NULL;
    size_t size = 0;

    ck_assert(fatbin_is(container.bytes));
    ck_assert_int_eq(fatbin_ptx(container.bytes, 80, &found, &size), expected);
    if (expected == 0) {
        ck_assert_uint_eq(size, strlen(text));
        ck_assert_str_eq(found, text);
    }
    free(found);
    container_free(&container);
}

START_TEST(a_container_gives_its_ptx_however_it_is_packed)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n// a text of some length\n";

    check_container(text, CONTAINER_PLAIN, 0);
    check_container(text, CONTAINER_ZSTD, 0);
    check_container(text, CONTAINER_LZ4, 0);
    check_container(text, CONTAINER_MACHINE_CODE, FATBIN_NO_PTX);
    check_container(text, CONTAINER_BROKEN, FATBIN_MALFORMED);
    ck_assert(!fatbin_is(text));
}
END_TEST

/* The PTX that takes the place of what a driver runs on the devices, up to a 0; NULL: none. */
static void check_run(const char *const names[], const unsigned devices[], const char *expected)
{
    struct container container;
    char *found = NULL;
    size_t size = 0, n = 0, n_devices = 0;
    int result;

    while (names[n])
        n++;
    while (devices[n_devices])
        n_devices++;
    container = container_of(names, n);
    result = fatbin_ptx_run(container.bytes, devices, n_devices, &found, &size);
    ck_assert_int_eq(result, expected ? 0 : FATBIN_NO_PTX);
    if (expected)
        ck_assert_str_eq(found, expected);
    free(found);
    container_free(&container);
}

#define NAMES(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define DEVICES(...) ((const unsigned[]){__VA_ARGS__, 0})

START_TEST(ptx_takes_the_place_of_the_very_code_that_a_driver_runs)
{
    /* nvcc -arch=sm_80 */
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(80), "ptx 80");
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(86), "ptx 80");
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(90), "ptx 80");
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(75), NULL);
    /* machine code of another architecture runs */
    check_run(NAMES("elf 90", "ptx 80"), DEVICES(90), NULL);
    check_run(NAMES("elf 86", "ptx 80"), DEVICES(86), NULL);
    check_run(NAMES("elf 86", "ptx 80"), DEVICES(80), "ptx 80");
    check_run(NAMES("elf 86", "ptx 90"), DEVICES(86), NULL);
    check_run(NAMES("elf 86", "ptx 90"), DEVICES(100), "ptx 90");
    check_run(NAMES("elf 80", "elf 86", "ptx 80"), DEVICES(89), NULL);
    check_run(NAMES("elf 100", "ptx 90"), DEVICES(120), "ptx 90");
    /* the newest that the device can run */
    check_run(NAMES("ptx 75", "ptx 90", "ptx 80"), DEVICES(86), "ptx 80");
    check_run(NAMES("ptx 90"), DEVICES(86), NULL);
    check_run(NAMES("elf 80", "ptx 80", "ptx 86"), DEVICES(86), "ptx 80");
}
END_TEST

START_TEST(code_of_an_architecture_s_own_leaves_nothing_certain)
{
    check_run(NAMES("elf 90a", "ptx 90a"), DEVICES(90), NULL);
    check_run(NAMES("elf 90a", "ptx 90"), DEVICES(90), NULL);
    check_run(NAMES("elf 90", "ptx 90", "elf 90a"), DEVICES(90), NULL);
    check_run(NAMES("ptx 80", "ptx 90a"), DEVICES(90), NULL);
    check_run(NAMES("ptx 80", "ptx 90a"), DEVICES(100), "ptx 80");
    check_run(NAMES("ptx 90", "ptx 100f"), DEVICES(103), NULL);
    check_run(NAMES("ptx 80", "lto 80"), DEVICES(80), NULL);
    check_run(NAMES("ptx 80", "lto 80"), DEVICES(90), "ptx 80");
}
END_TEST

START_TEST(several_devices_must_run_the_same_code)
{
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(80, 90, 86), "ptx 80");
    check_run(NAMES("elf 80", "ptx 80"), DEVICES(80, 75), NULL);
    check_run(NAMES("elf 80", "ptx 80", "ptx 90"), DEVICES(80, 90), NULL);
    check_run(NAMES("elf 80", "ptx 80", "elf 90"), DEVICES(80, 90), NULL);
}
END_TEST

/*
 * Bytes of an LZ4 block by hand: "abcd", then 12 bytes from 4 back, then "xyz": abcd four times and
 * xyz.
 */
START_TEST(lz4_copies_overlap_as_its_format_says)
{
    static const unsigned char packed[] = {0x48, 'a', 'b', 'c', 'd', 4, 0, 0x30, 'x', 'y', 'z'};
    struct container container = container_make("0123456789012345678", CONTAINER_LZ4);
    unsigned char *bytes = container.bytes;
    char *found = NULL;
    size_t size = 0;

    memcpy(bytes + 80, packed, sizeof packed);
    bytes[32] = sizeof packed; /* compressed bytes */
    bytes[72] = 20;            /* room */
    ck_assert_int_eq(fatbin_ptx(bytes, 80, &found, &size), 0);
    ck_assert_str_eq(found, "abcdabcdabcdabcdxyz");
    free(found);
    bytes[80 + 5] = 9; /* further back than there are bytes */
    ck_assert_int_eq(fatbin_ptx(bytes, 80, &found, &size), FATBIN_MALFORMED);
    container_free(&container);
}
END_TEST

START_TEST(packed_texts_are_taken_apart_again)
{
    static const char first[] = ".version 8.0\n", second[] = ".version 8.1\n// two";
    const struct image_text texts[] = {{"a", first, sizeof first - 1}, {"b", second, sizeof second - 1}};
    struct source *source = malloc(sizeof *source);
    size_t size;
    char *packed = source_pack(texts, 2, &size);

    ck_assert_ptr_nonnull(source);
    ck_assert_int_eq(source_read(packed, source), CUDA_SUCCESS);
    ck_assert_uint_eq(source->n, 2);
    ck_assert_uint_eq(source->texts[1].size, sizeof second - 1);
    ck_assert_mem_eq(source->texts[1].text, second, sizeof second - 1);
    source_done(source);
    packed[strlen(packed) - 1] = 0; /* one byte is missing */
    ck_assert_int_eq(source_read(packed, source), CUDA_ERROR_INVALID_IMAGE);
    ck_assert_int_eq(source_read("\177ELF", source), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(packed);
    free(source);
}
END_TEST

HARNESS_MAIN("cuda driver's parts", 30, ptx_takes_the_place_of_the_very_code_that_a_driver_runs,
             code_of_an_architecture_s_own_leaves_nothing_certain, several_devices_must_run_the_same_code,
             a_handle_is_of_its_kind_and_removed_once, many_handles_come_and_go,
             an_owner_s_handles_are_taken_one_by_one, memory_is_found_from_its_middle_and_counted,
             a_free_in_stream_order_is_the_only_one_and_never_another_block_s,
             registered_memory_may_not_overlap, memory_of_a_graph_is_the_program_s_while_it_is_live,
             a_script_makes_the_nth_call_fail, a_container_gives_its_ptx_however_it_is_packed,
             lz4_copies_overlap_as_its_format_says, packed_texts_are_taken_apart_again)
