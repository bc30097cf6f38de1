/* Modules: linking, what loading refuses, the cache, and a machine without a compiler. */
#include "device.h"

#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char user_text[] =
    HEAD ".extern .global .u32 shared_value;\n.extern .func (.param .b32 r) triple(.param .b32 a);\n"
         ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
         "ld.param.u64 %rd1, [out];\nld.global.u32 %r1, [shared_value];\n"
         "{ .param .b32 a; .param .b32 r;\nst.param.b32 [a], %r1;\ncall.uni (r), triple, (a);\n"
         "ld.param.b32 %r2, [r]; }\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
static const char library_text[] =
    HEAD ".visible .global .u32 shared_value = 14;\n"
         ".visible .func (.param .b32 r) triple(.param .b32 a)\n{\n.reg .b32 %r<3>;\n"
         "ld.param.u32 %r1, [a];\nmul.lo.u32 %r2, %r1, 3;\nst.param.b32 [r], %r2;\nret;\n}\n";

static struct space *space;
static char log_text[2048];

static enum cpu_status load(const char *first, const char *second, struct image_options options,
                            struct image **ret_image)
{
    struct image_text texts[2] = {{"first", first, strlen(first)},
                                  {"second", second, second ? strlen(second) : 0}};

    if (!space)
        ck_assert_int_eq(space_new(0, &space), 0);
    options.log = log_text;
    options.log_size = sizeof log_text;
    return image_load(space, texts, second ? 2 : 1, &options, ret_image);
}

static enum cpu_status run(const struct image *image, void *out)
{
    struct launch launch = {.image = image,
                            .entry = image_entry_at(image, 0),
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .parameters = &out};
    struct worker *worker;
    enum cpu_status status;

    ck_assert_int_eq(worker_new(space, &worker), 0);
    status = worker_launch(worker, &launch, NULL);
    worker_free(worker);
    return status;
}

START_TEST(modules_are_linked)
{
    const struct image_options usual = {0};
    struct image *image;
    struct image *again;
    uint64_t out;

    ck_assert_msg(load(user_text, library_text, usual, &image) == CPU_OK, "%s", log_text);
    ck_assert_int_eq(load(user_text, library_text, usual, &again),
                     CPU_OK); /* a second one beside it: its own variables */
    ck_assert_int_eq(space_allocate(space, 4, 4, NULL, &out), 0);
    *(uint32_t *)(uintptr_t)image_find_variable(image, "shared_value")->address = 5;
    ck_assert_int_eq(run(image, (void *)(uintptr_t)out), CPU_OK);
    ck_assert_uint_eq(*(uint32_t *)(uintptr_t)out, 15);
    ck_assert_int_eq(run(again, (void *)(uintptr_t)out), CPU_OK);
    ck_assert_uint_eq(*(uint32_t *)(uintptr_t)out, 42);
    image_free(again);
    image_free(image);
    ck_assert_int_eq(load(user_text, NULL, usual, &image), CPU_UNRESOLVED);
    ck_assert_int_eq(load(library_text, library_text, usual, &image), CPU_DUPLICATE);
}
END_TEST

START_TEST(what_cannot_run_is_refused_with_a_log)
{
    static const struct {
        const char *text;
        enum cpu_status status;
        const char *log;
    } bad[] = {
        {"", CPU_BAD_PTX, "first:1:1: expected .version"},
        {".version 42.0\n.target sm_80\n", CPU_UNSUPPORTED_VERSION, "first:1:10"},
        {HEAD ".visible .entry k()\n{\n.reg .b32 %r<2>;\nadd.s32 %r1, %r1, %r7;\n}\n", CPU_BAD_PTX,
         "first:7:19"},
        {HEAD ".visible .entry k()\n{\nmma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16;\n}\n",
         CPU_UNSUPPORTED_PTX, "found mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16"},
        {HEAD ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);\n.visible "
              ".entry k()\n{\n"
              "{ .param .b64 a; .param .b64 b; .param .b32 r; call.uni (r), cudaLaunchDeviceV2, (a, b); "
              "}\nret;\n}\n",
         CPU_UNSUPPORTED_PTX, "no launches from kernels"},
        {HEAD ".global .u64 p = nothing;\n.visible .entry k() { ret; }\n", CPU_UNRESOLVED, "first:4:18"},
    };
    const struct image_options usual = {0};
    struct image *image = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        enum cpu_status status = load(bad[i].text, NULL, usual, &image);

        ck_assert_msg(status == bad[i].status && strstr(log_text, bad[i].log), "%s: %s",
                      cpu_status_text(status), log_text);
    }
}
END_TEST

START_TEST(functions_that_call_each_other_run)
{
    /* is_even and is_odd of 7, each by way of the other */
    static const char text[] =
        HEAD ".func (.param .b32 r) odd(.param .b32 a);\n"
             ".func (.param .b32 r) even(.param .b32 a)\n{\n.reg .b32 %r<4>;\n.reg .pred "
             "%p<2>;\nld.param.u32 %r1, [a];\nmov.u32 %r2, 1;\n"
             "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nsub.u32 %r1, %r1, 1;\n{ .param .b32 x; .param .b32 "
             "y;\nst.param.b32 [x], %r1;\n"
             "call.uni (y), odd, (x);\nld.param.b32 %r2, [y]; }\nEND:\nst.param.b32 [r], %r2;\nret;\n}\n"
             ".func (.param .b32 r) odd(.param .b32 a)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\nld.param.u32 "
             "%r1, [a];\nmov.u32 %r2, 0;\n"
             "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nsub.u32 %r1, %r1, 1;\n{ .param .b32 x; .param .b32 "
             "y;\nst.param.b32 [x], %r1;\n"
             "call.uni (y), even, (x);\nld.param.b32 %r2, [y]; }\nEND:\nst.param.b32 [r], %r2;\nret;\n}\n"
             ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, "
             "[out];\nmov.u32 %r1, 7;\n"
             "{ .param .b32 x; .param .b32 y;\nst.param.b32 [x], %r1;\ncall.uni (y), odd, (x);\nld.param.b32 "
             "%r2, [y]; }\n"
             "st.global.u32 [%rd1], %r2;\nret;\n}\n";
    const struct image_options usual = {0};
    struct image *image;
    uint64_t out;

    ck_assert_msg(load(text, NULL, usual, &image) == CPU_OK, "%s", log_text);
    ck_assert_int_eq(space_allocate(space, 4, 4, NULL, &out), 0);
    ck_assert_int_eq(run(image, (void *)(uintptr_t)out), CPU_OK);
    ck_assert_uint_eq(*(uint32_t *)(uintptr_t)out, 1);
    image_free(image);
}
END_TEST

/* Overwrites the middle of every cache entry. */
static void damage(const char *folder)
{
    char path[512];
    DIR *dir;
    const struct dirent *entry;

    (void)snprintf(path, sizeof path, "%s/translate", folder);
    dir = opendir(path);
    ck_assert(dir != NULL);
    while ((entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): the only thread */
        int fd = openat(dirfd(dir), entry->d_name, O_WRONLY);

        if (fd < 0)
            continue;
        ck_assert_int_eq((int)pwrite(fd, "damage", 6, 2000), 6);
        (void)close(fd);
    }
    (void)closedir(dir);
}

START_TEST(code_comes_from_the_cache_when_it_is_whole)
{
    const struct image_options usual = {0};
    const struct image_options none = {.compiler = "/nonexistent/cc"};
    struct image *image;
    char folder[64];

    harness_folder(folder);
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", folder, 1),
                     0); /* NOLINT(concurrency-mt-unsafe): the only thread */
    ck_assert_int_eq(load(library_text, NULL, none, &image), CPU_NO_COMPILER);
    ck_assert_msg(strstr(log_text, "BATON_CUDA_CPU_CC") != NULL, "%s", log_text);
    ck_assert_int_eq(load(library_text, NULL, usual, &image), CPU_OK);
    ck_assert(!image_was_cached(image));
    image_free(image);
    ck_assert_int_eq(load(library_text, NULL, none, &image), CPU_OK); /* cached code needs no compiler */
    ck_assert(image_was_cached(image));
    image_free(image);
    damage(folder);
    ck_assert_int_eq(load(library_text, NULL, none, &image), CPU_NO_COMPILER);
    ck_assert_int_eq(load(library_text, NULL, (struct image_options){.compiler = "/bin/false"}, &image),
                     CPU_COMPILER_FAILED);
    ck_assert_int_eq(load(library_text, NULL, usual, &image), CPU_OK);
    ck_assert(!image_was_cached(image));
    image_free(image);
}
END_TEST

START_TEST(the_space_hands_out_and_takes_back)
{
    struct space *own;
    struct space_block block;
    uint64_t a;
    uint64_t b;

    ck_assert_int_eq(space_new(0, &own), 0);
    ck_assert_uint_eq(space_size(own), UINT64_C(1) << 30);
    ck_assert_int_eq(space_allocate(own, 100, 256, &a, &a), 0);
    ck_assert_int_eq(space_allocate(own, 5000, 4096, &b, &b), 0);
    ck_assert_uint_eq(a % 256, 0);
    ck_assert_uint_eq(b % 4096, 0);
    ck_assert(space_find(own, a + 99, &block) && block.address == a && block.size == 100 &&
              block.owner == &a);
    ck_assert(!space_find(own, a + 100, &block));
    memset((void *)(uintptr_t)b, 7, 5000);
    ck_assert_int_eq(space_release(own, b + 1), -2); /* -ENOENT */
    ck_assert_int_eq(space_release(own, b), 0);
    ck_assert(!space_find(own, b, &block));
    ck_assert_int_eq(space_allocate(own, 5000, 4096, NULL, &b), 0);
    ck_assert_int_eq(*(char *)(uintptr_t)b, 0);                                   /* zeroed again */
    ck_assert_int_eq(space_allocate(own, UINT64_C(1) << 31, 256, NULL, &b), -12); /* -ENOMEM */
    ck_assert_int_eq(space_allocate(own, 0, 256, NULL, &b), -22);                 /* -EINVAL */
    space_free(own);
}
END_TEST

/* The compilers differ in the options that they know. */
START_TEST(gcc_and_clang_compile_at_every_level)
{
    static const char *const compilers[] = {"/usr/bin/gcc", "/usr/bin/clang"};
    unsigned n = 0;

    for (unsigned i = 0; i < 6; i++) {
        const struct image_options options = {
            .compiler = compilers[i % 2], .haste = (enum image_haste)(i / 2), .no_cache = true};
        struct image *image;
        uint64_t out;

        if (access(options.compiler, X_OK) < 0)
            continue;
        ck_assert_msg(load(user_text, library_text, options, &image) == CPU_OK, "%s", log_text);
        ck_assert_int_eq(space_allocate(space, 4, 4, NULL, &out), 0);
        ck_assert_int_eq(run(image, (void *)(uintptr_t)out), CPU_OK);
        ck_assert_uint_eq(*(uint32_t *)(uintptr_t)out, 42); /* 3 * 14 */
        image_free(image);
        n++;
    }
    ck_assert_uint_gt(n, 0);
}
END_TEST

static void await_file(const char *path)
{
    for (unsigned i = 0; access(path, F_OK) != 0; i++) {
        ck_assert_msg(i < 60000, "%s does not appear", path);
        usleep(10000);
    }
}

static bool is_empty(const char *folder)
{
    DIR *files = opendir(folder);
    unsigned n = 0;

    ck_assert_ptr_nonnull(files);
    while (readdir(files)) /* NOLINT(concurrency-mt-unsafe): one thread */
        n++;
    (void)closedir(files);
    return n == 2; /* . and .. */
}

/* A compiler that says when it has begun, and ends when it is told to. */
static void write_slow_compiler(const char *folder, char ret_path[96])
{
    FILE *file;

    (void)snprintf(ret_path, 96, "%s/cc", folder);
    file = fopen(ret_path, "we");
    ck_assert_ptr_nonnull(file);
    (void)fprintf(file,
                  "#!/bin/sh\ncase $1 in --version) exit 0 ;; esac\n: >'%s/begun'\n"
                  "until [ -e '%s/go' ]; do sleep 0.01; done\n: >unit.so\n",
                  folder, folder);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(ret_path, 0700), 0);
}

START_TEST(a_process_that_dies_while_it_compiles_leaves_no_file)
{
    char folder[64], temporary[96], compiler[96], path[96];
    struct image *image;
    pid_t child;

    harness_folder(folder);
    write_slow_compiler(folder, compiler);
    (void)snprintf(temporary, sizeof temporary, "%s/tmp", folder);
    ck_assert_int_eq(mkdir(temporary, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", temporary, 1), 0);
    child = fork();
    if (child == 0) {
        const struct image_options options = {.compiler = compiler, .no_cache = true};

        (void)load(library_text, NULL, options, &image);
        _exit(0);
    }
    (void)snprintf(path, sizeof path, "%s/begun", folder);
    await_file(path);
    ck_assert(!is_empty(temporary));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    (void)snprintf(path, sizeof path, "%s/go", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (unsigned i = 0; !is_empty(temporary); i++) {
        ck_assert_msg(i < 60000, "the compiler's folder is left");
        usleep(10000);
    }
}
END_TEST

HARNESS_MAIN("cuda_cpu modules", 120, a_process_that_dies_while_it_compiles_leaves_no_file,
             modules_are_linked, what_cannot_run_is_refused_with_a_log, functions_that_call_each_other_run,
             code_comes_from_the_cache_when_it_is_whole, the_space_hands_out_and_takes_back,
             gcc_and_clang_compile_at_every_level)
