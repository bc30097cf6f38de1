/*
 * translate_program() from the caller's side: answers, refusals and everything that can go wrong
 * around the child process.
 */
#include "asking.h"
#include "harness.h"
#include "base/clock.h"
#include "translate/child.h"
#include "translate/piece.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

START_TEST(a_translator_preloads_what_the_program_does_but_the_front)
{
    static const char script[] = "#!/bin/sh\ncat >/dev/null\nprintf %s \"$LD_PRELOAD\"\n";
    uint8_t *answer;
    char path[512];
    size_t n;
    int status;
    FILE *file;

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/program", folder);
    file = fopen(path, "w");
    (void)fputs(script, file);
    (void)fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
    ck_assert_int_eq(
        setenv("LD_PRELOAD", "libbaton-cuda.so:/none/first.so:/none/libbaton-cuda.so /none/last.so", 1), 0);
    ck_assert_int_eq(
        child_ask(path, (const uint8_t *)"question", 8, 600 * NSEC_PER_SEC, 1 << 20, &answer, &n, &status),
        0);
    ck_assert_uint_eq(n, strlen("/none/first.so:/none/last.so"));
    ck_assert_mem_eq(answer, "/none/first.so:/none/last.so", n);
    free(answer);
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

/*
 * Anything at all: an answer within the time limit, never a crash of the caller, most often a
 * refusal.
 */
START_TEST(hostile_sources_are_answered)
{
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

/* OpenCL C of a program without -cl-std, for a device of OpenCL 3.0 that has OpenCL C 1.2. */
START_TEST(the_language_without_an_option_is_the_driver_s)
{
    static const struct {
        const char *version, *language;
    } cases[] = {
        {"OpenCL 3.0 PoCL HSTR: basic", "__OPENCL_C_VERSION__ !=  300"}, /* QUIRK_STANDARD_OF_DEVICE */
        {"OpenCL 3.0 CUDA", "__OPENCL_C_VERSION__ !=  120"},
    };
    const char *text = "#if __OPENCL_C_VERSION__ >= 100\n__kernel void k(void) {}\n#endif\n";
    size_t length = strlen(text);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct translate_request request = {.sources = &text, .lengths = &length, .n_sources = 1};
        struct translate_result result;

        fresh_cache();
        request.device = (struct translate_device){
            .version = cases[i].version, .c_version = "OpenCL C 1.2", .address_bits = 64};
        ck_assert_int_eq(translate_program(&request, &result), 0);
        ck_assert_msg(strstr(result.source, cases[i].language), "%s: %s", cases[i].version, result.source);
        translate_result_done(&result);
    }
}
END_TEST

HARNESS_MAIN("translate program", 60, a_missing_or_failing_translator_is_a_reason,
             a_translator_that_hangs_or_babbles_is_killed,
             a_translator_preloads_what_the_program_does_but_the_front,
             an_ignored_sigchld_and_blocked_signals_do_not_matter,
             no_process_and_no_descriptor_is_left_behind, the_host_never_sees_the_translator,
             hostile_sources_are_answered, what_cannot_be_understood_is_refused_with_its_reason,
             texts_whose_meaning_could_change_are_refused,
             a_counted_nul_and_line_ends_of_two_bytes_are_no_obstacle,
             assumptions_about_the_driver_are_written_into_the_text,
             the_language_without_an_option_is_the_driver_s)
