/*
 * translate_program() from the caller's side: answers, refusals, the cache and everything that can
 * go wrong around it.
 */
#include "harness.h"
#include "base/clock.h"
#include "translate/cache.h"
#include "translate/child.h"
#include "translate/metadata.h"
#include "translate/piece.h"
#include "translate/hash.h"
#include "translate/translate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char simple[] =
    "__kernel void k(__global int *out) { out[get_global_id(0)] = get_group_id(0); }\n";

static char folder[64];

/* An empty cache of the test's own. */
static void fresh_cache(void)
{
    harness_folder(folder);
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", folder, 1), 0);
}

static int translate_bytes(const char *text, size_t length, const char *options, struct translate_result *ret)
{
    struct translate_request request = {
        .sources = &text, .lengths = &length, .n_sources = 1, .options = options};

    request.device = (struct translate_device){.version = "OpenCL 3.0 PoCL",
                                               .c_version = "OpenCL C 1.2 PoCL",
                                               .extensions = "cl_khr_fp64 cl_khr_global_int32_base_atomics",
                                               .driver = "PoCL test",
                                               .address_bits = 64,
                                               .images = true,
                                               .little_endian = true};
    return translate_program(&request, ret);
}

static int translate_text(const char *text, const char *options, struct translate_result *ret)
{
    return translate_bytes(text, strlen(text), options, ret);
}

static size_t entries(char *ret_path, size_t room)
{
    char path[512];
    const struct dirent *entry;
    size_t n = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/translate", folder);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            (void)snprintf(ret_path, room, "%s/%.100s", path, entry->d_name);
            n++;
        }
    if (dir)
        (void)closedir(dir);
    return n;
}

static void expect_whole(const char *text, const char *options, const char *reason)
{
    struct translate_result result;

    ck_assert_int_eq(translate_text(text, options, &result), TRANSLATE_WHOLE);
    ck_assert_msg(strstr(result.reason, reason), "reason '%s', expected '%s'", result.reason, reason);
    ck_assert_ptr_null(result.source);
    translate_result_done(&result);
}

START_TEST(a_second_translation_comes_from_the_cache_and_is_equal)
{
    struct translate_result first;
    struct translate_result second;
    char path[768];

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "-cl-mad-enable -DX=1", &first), 0);
    ck_assert_int_eq(translate_text(simple, "-cl-mad-enable -DX=1", &second), 0);
    ck_assert(!first.from_cache);
    ck_assert(second.from_cache);
    ck_assert_str_eq(first.source, second.source);
    ck_assert_str_eq(second.options, "-cl-mad-enable -w");
    ck_assert_uint_eq(second.n_kernels, 1);
    ck_assert_uint_eq(translate_find(&second, "k")->n_args, 1);
    ck_assert_uint_eq(entries(path, sizeof path), 1);
    translate_result_done(&first);
    translate_result_done(&second);
}
END_TEST

START_TEST(other_options_or_text_are_other_entries)
{
    struct translate_result result;
    char path[768];

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_int_eq(translate_text(simple, "-DX", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
    ck_assert_int_eq(translate_text("__kernel void other(void) {}", "", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 3);
}
END_TEST

START_TEST(an_entry_damaged_or_cut_at_any_byte_is_made_again)
{
    struct translate_result result;
    char path[768];
    char bytes[16384];
    size_t n;
    FILE *file;

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 1);
    file = fopen(path, "r");
    n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    for (size_t i = 0; i < 12; i++) { /* six cuts, six flipped bits, all over the entry */
        size_t at = n * (i / 2) / 6 + i;

        file = fopen(path, "w");
        bytes[at] ^= (char)(i & 1);
        ck_assert_uint_eq(fwrite(bytes, 1, i & 1 ? n : at, file), i & 1 ? n : at);
        bytes[at] ^= (char)(i & 1);
        (void)fclose(file);
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert_msg(!result.from_cache, "byte %zu of %zu", at, n);
        translate_result_done(&result);
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

START_TEST(a_changed_or_newly_found_header_is_noticed)
{
    static const char text[] =
        "#include \"value.h\"\n__kernel void k(__global int *out) { out[get_global_id(0)] = VALUE; }\n";
    struct translate_result result;
    char options[1024];
    char path[512];
    FILE *file;

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/first", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(options, sizeof options, "-I %s/first -I %s", folder, folder);
    expect_whole(text, options, "not found");
    for (int i = 1; i <= 3; i++) {
        char expected[32];

        (void)snprintf(path, sizeof path, i < 3 ? "%s/value.h" : "%s/first/value.h", folder);
        file = fopen(path, "w");
        (void)fprintf(file, "#pragma once\n#define VALUE %d00\n", i);
        (void)fclose(file);
        ck_assert_int_eq(translate_text(text, options, &result), 0);
        (void)snprintf(expected, sizeof expected, "= %d00", i);
        ck_assert_msg(strstr(result.source, expected), "%s", result.source);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
        ck_assert_int_eq(translate_text(text, options, &result), 0);
        ck_assert(result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

/* As hashcat writes it: the path is made by macros of the build options, and no folder is given. */
START_TEST(a_header_named_from_the_root_needs_no_folder)
{
    static const char text[] = "#include M2S(INCLUDE_PATH/value.h)\n#include M2S(INCLUDE_PATH/value.h)\n"
                               "__kernel void k(__global int *out) { out[get_global_id(0)] = VALUE; }\n";
    struct translate_result result;
    char options[1024];
    char path[512];
    FILE *file;

    fresh_cache();
    (void)snprintf(options, sizeof options, "-D INCLUDE_PATH=%s -D XM2S(x)=#x -D M2S(x)=XM2S(x)", folder);
    expect_whole(text, options, "not found");
    (void)snprintf(path, sizeof path, "%s/value.h", folder);
    file = fopen(path, "w");
    (void)fprintf(file, "#pragma once\n#include <%s/number.h>\n#define VALUE NUMBER\n", folder);
    (void)fclose(file);
    expect_whole(text, options, "number.h");
    (void)snprintf(path, sizeof path, "%s/number.h", folder);
    file = fopen(path, "w");
    (void)fprintf(file, "#define NUMBER 700\n");
    (void)fclose(file);
    ck_assert_int_eq(translate_text(text, options, &result), 0);
    ck_assert_msg(strstr(result.source, "= 700"), "%s", result.source);
    translate_result_done(&result);
}
END_TEST

START_TEST(without_a_cache_folder_the_answer_is_the_same)
{
    struct translate_result result;

    fresh_cache();
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", "/proc/nowhere", 1), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

START_TEST(a_folder_that_others_can_write_is_not_trusted)
{
    struct translate_result result;
    char path[512];

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/translate", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0777), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
    }
    ck_assert_uint_eq(entries(path, sizeof path), 0);
}
END_TEST

START_TEST(a_full_disk_leaves_no_half_entry)
{
    const struct rlimit little = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    struct translate_result result;
    char path[768];

    if (strcmp(harness_sanitizer(), "thread") == 0)
        return; /* whose run time writes a file when the translator starts, and dies of the limit */
    fresh_cache();
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little),
                     0); /* writes fail after 1000 bytes, as on a full disk */
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 0);
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
}
END_TEST

START_TEST(pruning_keeps_the_newest_entries)
{
    char path[768];
    char *place;

    fresh_cache();
    place = cache_folder();
    for (int i = 0; i < 20; i++) {
        char key[16];
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};

        (void)snprintf(key, sizeof key, "entry%02d", i);
        ck_assert_int_eq(cache_write(place, key, (const uint8_t *)"x", 1), 0);
        (void)snprintf(path, sizeof path, "%s/%s", place, key);
        ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    cache_prune(place, 5);
    ck_assert_uint_eq(entries(path, sizeof path), 5);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(path, sizeof path, "%s/entry%02d", place, i);
        ck_assert_int_eq(access(path, F_OK) == 0, i >= 15);
    }
    free(place);
}
END_TEST

START_TEST(the_mark_of_a_folder_stays_as_long_as_the_folder)
{
    char first[CACHE_MARK], again[CACHE_MARK], path[1200], *place;
    FILE *file;

    fresh_cache();
    place = cache_folder();
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(cache_mark(place, first), 0);
    ck_assert_uint_eq(strlen(first), 8);
    cache_prune(place, 0); /* removes entries only */
    ck_assert_int_eq(cache_mark(place, again), 0);
    ck_assert_str_eq(first, again);
    (void)snprintf(path, sizeof path, "%s/mark", place);
    file = fopen(path, "w");
    ck_assert(file && fputs("damaged!", file) >= 0 && fclose(file) == 0);
    ck_assert_int_eq(cache_mark(place, again), 0); /* 1 in 2^32 that it is the same by chance */
    ck_assert_str_ne(first, again);
    ck_assert_uint_eq(strspn(again, "0123456789abcdef"), 8);
    ck_assert_int_eq(chmod(place, 0500), 0);
    if (geteuid() != 0 && unlink(path) == 0)
        ck_assert_int_lt(cache_mark(place, again), 0);
    ck_assert_int_eq(chmod(place, 0700), 0);
    free(place);
}
END_TEST

START_TEST(an_entry_that_is_of_use_is_removed_last)
{
    const struct timespec old[2] = {{1000, 0}, {1000, 0}}, older[2] = {{500, 0}, {500, 0}};
    char path[1200], *place;

    fresh_cache();
    place = cache_folder();
    ck_assert_int_eq(cache_write(place, "used", (const uint8_t *)"x", 1), 0);
    ck_assert_int_eq(cache_write(place, "unused", (const uint8_t *)"x", 1), 0);
    (void)snprintf(path, sizeof path, "%s/used", place);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, older, 0), 0);
    (void)snprintf(path, sizeof path, "%s/unused", place);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    cache_touch(place, "used");
    cache_touch(place, "missing");
    cache_prune(place, 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/used", place);
    ck_assert_int_eq(access(path, F_OK), 0);
    free(place);
}
END_TEST

START_TEST(a_missing_or_failing_translator_is_a_reason)
{
    fresh_cache();
    ck_assert_int_eq(setenv("BATON_TRANSLATE", "/nonexistent/baton-translate", 1), 0);
    expect_whole(simple, "", "cannot be started");
    ck_assert_int_eq(setenv("BATON_TRANSLATE", "/bin/false", 1), 0);
    expect_whole(simple, "", "translator failed");
    ck_assert_int_eq(setenv("BATON_TRANSLATE", "/bin/cat", 1), 0); /* answers with the question */
    expect_whole(simple, "", "translator failed");
}
END_TEST

START_TEST(a_translator_that_hangs_or_babbles_is_killed)
{
    char path[512];
    uint8_t *answer;
    size_t n;
    int status;
    FILE *file;

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/program", folder);
    for (int babbles = 0; babbles < 2; babbles++) {
        file = fopen(path, "w");
        (void)fprintf(file, babbles ? "#!/bin/sh\nexec cat /dev/zero\n" : "#!/bin/sh\nexec sleep 1000\n");
        (void)fclose(file);
        ck_assert_int_eq(chmod(path, 0700), 0);
        ck_assert_int_eq(child_ask(path, (const uint8_t *)"question", 8,
                                   babbles ? 600 * NSEC_PER_SEC : 200 * NSEC_PER_MS, 1 << 20, &answer, &n,
                                   &status),
                         babbles ? -EFBIG : -ETIMEDOUT);
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* and buried */
    }
}
END_TEST

START_TEST(an_ignored_sigchld_and_blocked_signals_do_not_matter)
{
    struct translate_result result;
    sigset_t all;

    fresh_cache();
    (void)signal(SIGCHLD, SIG_IGN);
    (void)sigfillset(&all);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &all, NULL), 0);
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
}
END_TEST

START_TEST(no_process_and_no_descriptor_is_left_behind)
{
    struct translate_result result;
    int before;
    int after;

    fresh_cache();
    before = dup(0);
    (void)close(before);
    expect_whole("__kernel void broken(", "", "does not compile");
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    after = dup(0);
    (void)close(after);
    ck_assert_int_eq(before, after);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

static atomic_int children_seen;

static void count_child(int signal_number)
{
    (void)signal_number;
    atomic_fetch_add(&children_seen, 1);
}

/* A host's own reaper, as shells and servers have one. */
static void *wait_for_anything(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        if (waitpid(-1, NULL, WNOHANG) >= 0)
            atomic_fetch_add(&children_seen, 1);
    }
    return NULL;
}

START_TEST(the_host_never_sees_the_translator)
{
    struct translate_result result;
    atomic_bool stop = false;
    pthread_t thread;

    fresh_cache();
    (void)signal(SIGCHLD, count_child);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_anything, &stop), 0);
    for (int i = 0; i < 5; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, "__kernel void k(__global int *o) { o[get_global_id(0)] = %d; }",
                       i);
        ck_assert_int_eq(translate_text(text, "", &result), 0);
        translate_result_done(&result);
    }
    atomic_store(&stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(atomic_load(&children_seen), 0);
}
END_TEST

static void *translate_often(void *arg)
{
    for (int i = 0; i < 6; i++) {
        struct translate_result result;
        char text[200];

        (void)snprintf(text, sizeof text, "__kernel void k%d(__global int *o) { o[get_global_id(0)] = %d; }",
                       i, i);
        if (translate_text(text, "", &result) != 0)
            return arg;
        translate_result_done(&result);
    }
    return NULL;
}

START_TEST(threads_and_processes_share_one_cache)
{
    pthread_t threads[4];
    char path[768];
    pid_t child;
    int status;

    fresh_cache();
    child = fork();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, translate_often, folder), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(entries(path, sizeof path), 6);
}
END_TEST

/*
 * Anything at all: an answer within the time limit, never a crash of the caller, most often a
 * refusal.
 */
START_TEST(hostile_sources_are_answered)
{
    static const char *const junk[] = {"",
                                       "(",
                                       "}",
                                       "__kernel",
                                       "#",
                                       "#if",
                                       "#if 1",
                                       "#else\n",
                                       "\"",
                                       "'",
                                       "/*",
                                       "\\",
                                       "\\\n",
                                       ("?"
                                        "?/\n"),
                                       "#include \"/dev/zero\"\n",
                                       "#include \"nowhere.h\"\n",
                                       "#define f(x f\nf(",
                                       "#define A A A\nA A A",
                                       "#if 1/0\n#endif",
                                       "#if 0x7fffffffffffffff + 1\n#endif",
                                       "__kernel void k(__global int *p) { *p = ; }",
                                       "#define X __kernel void k(void) {\nX }",
                                       "\xff\xfe\x00",
                                       "@@@@",
                                       "int \xc3\xa9;",
                                       "#line 7 \"x\"\n",
                                       "__kernel void k(void) { __asm__(\"nop\"); }",
                                       "_Pragma(\"once\")",
                                       "#pragma once\n"};
    const size_t large = 1 << 20;
    char *text = malloc(large + 64);
    struct translate_result result;
    baton_nsec begin_at;

    fresh_cache();
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        ck_assert_int_ge(translate_text(junk[i], "", &result), 0);
        translate_result_done(&result);
    }
    ck_assert_int_eq(translate_bytes("__kernel void k(void) {}\0 x", 27, "", &result), TRANSLATE_WHOLE);
    ck_assert_str_eq(result.reason, "source contains a NUL byte");
    translate_result_done(&result);
    memset(text, '(', large); /* nested */
    ck_assert_int_eq(translate_bytes(text, large, "", &result), TRANSLATE_WHOLE);
    translate_result_done(&result);
    memset(text, 'a', large); /* one name of a megabyte */
    ck_assert_int_ge(translate_bytes(text, large, "", &result), 0);
    translate_result_done(&result);
    for (size_t i = 0; i < large; i += 32) /* one line of a megabyte */
        (void)snprintf(text + i, 40, "__constant int a%07u = 12;   ", (unsigned)(i / 32) % 1000000);
    ck_assert_int_ge(translate_bytes(text, large, "", &result), 0);
    translate_result_done(&result);
    free(text);
    begin_at = clock_now();
    ck_assert_int_eq(
        translate_text(
            "#define A B B B B B B B B\n#define B C C C C C C C C\n#define C D D D D D D D D\n#define D "
            "E E E E E E E E\n#define E F F F F F F F F\n"
            "#define F G G G G G G G G\n#define G H H H H H H H H\n#define H I I I I I I I I\n#define I "
            "J J J J J J J J\nA\n",
            "", &result),
        TRANSLATE_WHOLE);
    /* Two seconds of work. On a machine that is too busy for that the limit of time is first. */
    ck_assert_msg(strstr(result.reason, "macros expand without bounds") || harness_sanitized() ||
                      clock_now() - begin_at > 14 * NSEC_PER_SEC,
                  "%s", result.reason);
    translate_result_done(&result);
}
END_TEST

START_TEST(what_cannot_be_understood_is_refused_with_its_reason)
{
    fresh_cache();
    expect_whole("size_t get_global_id(uint d) { return 0; }\n__kernel void k(void) {}\n", "", "");
    expect_whole("#if __has_builtin(x)\n#endif\n", "", "__has_builtin");
    expect_whole(simple, "-x spir -spir-std=1.2", "build option -x");
    expect_whole(simple, "-cl-std=CLC++", "language CLC++");
    expect_whole(simple, "-DNAME=\"a b\"", "quotes");
    expect_whole(simple, "-D", "without a value");
    expect_whole("#error no\n", "", "#error");
    expect_whole("#define F(a) a\nint x = F(\n#define A\n1\n);\n", "", "directive within the arguments");
    expect_whole("#define F(a) a\nint x = F(\n#if 1\n1\n#pragma unroll\n#endif\n);\n", "",
                 "directive within the arguments");
    expect_whole("#define F(a) a\nint x = F(\n#if 0\n1);\n#endif\n", "", "arguments of macro F");
    expect_whole("#define F(a) a\nint x = F(\n#if 1\n1);\n", "", "#if without #endif");
    expect_whole("__kernel void k(void) { undeclared(); }", "", "does not compile here: line 1");
}
END_TEST

/* What compilers read in different ways, or what has another value in the rewritten text. */
START_TEST(texts_whose_meaning_could_change_are_refused)
{
    static const char *const telltales[] = {"__FILE__", "__BASE_FILE__",     "__DATE__",
                                            "__TIME__", "__INCLUDE_LEVEL__", "__TIMESTAMP__"};
    char text[200];

    fresh_cache();
    expect_whole("#define TWICE v++; \\ \n v++;\n__kernel void k(void) { int v = 0; TWICE }\n", "",
                 "odd end of line");
    expect_whole("__kernel void k(__global int *o) { // set\r o[0] = 1;\n}\n", "", "odd end of line");
    for (size_t i = 0; i < sizeof telltales / sizeof telltales[0]; i++) {
        (void)snprintf(text, sizeof text, "__kernel void k(__global int *o) { o[0] = sizeof(%s); }\n",
                       telltales[i]);
        expect_whole(text, "", telltales[i]);
    }
    expect_whole("__kernel void k(__global int *o) { o[0] = sizeof(__PRETTY_FUNCTION__); }\n", "",
                 "__PRETTY_FUNCTION__");
}
END_TEST

START_TEST(a_counted_nul_and_line_ends_of_two_bytes_are_no_obstacle)
{
    static const char text[] =
        "#define A 1 + \\\r\n 2\r\n__kernel void k(__global int *o) { o[get_global_id(0)] = A; }\r\n";
    struct translate_result result;

    fresh_cache();
    ck_assert_int_eq(translate_bytes(text, sizeof text, "", &result), 0);
    ck_assert_ptr_nonnull(strstr(result.source, "= 1 +"));
    translate_result_done(&result);
}
END_TEST

START_TEST(assumptions_about_the_driver_are_written_into_the_text)
{
    struct translate_result result;

    fresh_cache();
    ck_assert_int_eq(
        translate_text(
            "#ifdef __VENDOR__\nint x;\n#endif\n#if __OPENCL_VERSION__ >= 120 && defined(cl_khr_fp64)\n"
            "__kernel void k(void) {}\n#endif\n",
            "", &result),
        0);
    ck_assert_ptr_nonnull(strstr(result.source, "#ifdef __VENDOR__\n#error"));
    ck_assert_ptr_nonnull(strstr(result.source, "__OPENCL_VERSION__ !=  300"));
    ck_assert_ptr_nonnull(strstr(result.source, "#ifndef cl_khr_fp64\n#error"));
    ck_assert_uint_eq(result.n_kernels, 1);
    translate_result_done(&result);
}
END_TEST

/*
 * FIPS 180-4 and NIST's examples: nothing, one block, a length that just needs a second block, many
 * blocks.
 */
START_TEST(the_hash_is_sha_256)
{
    static const struct {
        const char *text, *digest;
    } all[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    static char million[1000000];
    char digest[HASH_TEXT];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        hash_text(all[i].text, strlen(all[i].text), digest);
        ck_assert_str_eq(digest, all[i].digest);
    }
    memset(million, 'a', sizeof million);
    hash_text(million, sizeof million, digest);
    ck_assert_str_eq(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

/* Large parts may be hashed by instructions for it, small ones are not: both give the same. */
START_TEST(the_hash_does_not_depend_on_how_bytes_are_added)
{
    static uint8_t bytes[9000];
    uint8_t whole[HASH_BYTES];
    uint8_t parts[HASH_BYTES];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761U >> 13);
    for (size_t n = 0; n <= sizeof bytes; n += n < 300 ? 1 : 61) {
        struct hash hash;

        hash_init(&hash);
        hash_add(&hash, bytes, n);
        hash_end(&hash, whole);
        hash_init(&hash);
        for (size_t at = 0; at < n; at += 1 + at % 97)
            hash_add(&hash, bytes + at, at + 1 + at % 97 < n ? 1 + at % 97 : n - at);
        hash_end(&hash, parts);
        ck_assert_msg(memcmp(whole, parts, sizeof whole) == 0, "%zu bytes", n);
    }
}
END_TEST

HARNESS_MAIN("translate program", 60, the_hash_is_sha_256, the_hash_does_not_depend_on_how_bytes_are_added,
             a_second_translation_comes_from_the_cache_and_is_equal, other_options_or_text_are_other_entries,
             an_entry_damaged_or_cut_at_any_byte_is_made_again, a_changed_or_newly_found_header_is_noticed,
             a_header_named_from_the_root_needs_no_folder, the_mark_of_a_folder_stays_as_long_as_the_folder,
             an_entry_that_is_of_use_is_removed_last, without_a_cache_folder_the_answer_is_the_same,
             a_folder_that_others_can_write_is_not_trusted, a_full_disk_leaves_no_half_entry,
             pruning_keeps_the_newest_entries, a_missing_or_failing_translator_is_a_reason,
             a_translator_that_hangs_or_babbles_is_killed,
             an_ignored_sigchld_and_blocked_signals_do_not_matter,
             no_process_and_no_descriptor_is_left_behind, the_host_never_sees_the_translator,
             threads_and_processes_share_one_cache, hostile_sources_are_answered,
             what_cannot_be_understood_is_refused_with_its_reason,
             texts_whose_meaning_could_change_are_refused,
             a_counted_nul_and_line_ends_of_two_bytes_are_no_obstacle,
             assumptions_about_the_driver_are_written_into_the_text)
