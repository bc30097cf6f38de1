/*
 * Text that is no PTX, or PTX that means harm: the answer is an error with line and reason in the
 * log, and the process goes on. What takes much memory or time, or ends a context, is a process of
 * its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conformance.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static char log_text[1024];

static CUresult load(const char *text, CUmodule *ret_module)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log_text, (void *)sizeof log_text};

    return cuModuleLoadDataEx(ret_module, text, 2, options, values);
}

/* The line that the log names, `NAME:LINE:COLUMN: expected ...`; 0: it names none, or no reason. */
static unsigned logged_line(void)
{
    const char *colon = strchr(log_text, ':');
    unsigned line = 0, column = 0;

    return colon && sscanf(colon, ":%u:%u:", &line, &column) == 2 && strstr(log_text, "expected") ? line : 0;
}

static unsigned lines_of(const char *text)
{
    unsigned n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Is the text refused, with a line of its own and a reason? */
static bool is_refused(const char *text)
{
    CUmodule module;
    CUresult code = load(text, &module);
    unsigned line = logged_line();
    bool right = code == CUDA_ERROR_INVALID_PTX && line >= 1 && line <= lines_of(text);

    if (!right)
        fprintf(stderr, "answer %d, log '%s' for:\n%.400s\n", (int)code, log_text, text);
    return right;
}

/* --- small texts --- */

/* Cut at 16 places of every function's body: none of these texts is whole. */
static void truncated_cases(void)
{
    char *text = kernels_text();
    unsigned n = 0, n_right = 0;

    for (const char *at = strstr(text, ".entry"); at; at = strstr(at + 1, ".entry")) {
        const char *open = strchr(at, '{'), *end = open ? strstr(open, "\n}") : NULL;

        for (size_t i = 0; end && i < 16; i++) {
            char *cut = strndup(text, (size_t)(open - text) + 1 + (size_t)(end - open) * i / 16);

            n++;
            n_right += cut && is_refused(cut);
            free(cut);
        }
    }
    holds("text that ends in the middle is refused wherever it ends", n >= 16 * 15 && n_right == n);
    free(text);
}

static void version_cases(void)
{
    static const char *const versions[] = {"99.0", "8.99", "0.0", "42.0"};
    CUmodule module;
    char text[128];

    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        snprintf(text, sizeof text, ".version %s\n.target sm_80\n.address_size 64\n", versions[i]);
        answer("a version of no toolkit", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, load(text, &module));
        holds("the log names its line", logged_line() == 1);
    }
    holds("a version that is no number is refused",
          is_refused(".version eight\n.target sm_80\n.address_size 64\n"));
    holds("as is one that no integer holds",
          is_refused(".version 4294967304.0\n.target sm_80\n.address_size 64\n"));
    holds("no target is refused", is_refused(".version 8.0\n.address_size 64\n"));
}

static void text_cases(void)
{
    static const struct {
        const char *what, *text;
        unsigned line;
    } cases[] = {
        {"a register before its declaration",
         HEAD ".visible .entry f()\n{\nmov.u32 %r1, 1;\n.reg .b32 %r<2>;\nret;\n}\n", 6},
        {"a register beyond its declaration",
         HEAD ".visible .entry f()\n{\n.reg .b32 %r<2>;\nmov.u32 %r2, 1;\nret;\n}\n", 7},
        {"a register behind the end of its block",
         HEAD ".visible .entry f()\n{\n{ .reg .b32 %x; }\nmov.u32 %x, 1;\nret;\n}\n", 7},
        {"a call of a kernel", HEAD ".visible .entry f()\n{\ncall.uni f, ();\nret;\n}\n", 6},
        {"a call of nothing", HEAD ".visible .entry f()\n{\ncall.uni g, ();\nret;\n}\n", 6},
        {"C behind the directives", HEAD "int main(void) { return 0; }\n", 4},
        {"an end of the comment that ends C's", HEAD "*/ system(\"true\"); /*\n", 4},
        {"a quote in a name", HEAD ".visible .entry f\"g()\n{\nret;\n}\n", 4},
        {"a backslash", HEAD ".visible .entry f\\\n()\n{\nret;\n}\n", 4},
        {"a byte of no character", HEAD ".visible .entry f()\n{\n\x01\xff\nret;\n}\n", 6},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool refused = is_refused(cases[i].text);

        holds(cases[i].what, refused && logged_line() == cases[i].line);
    }
}

/* What a C compiler would take for its own words are names like all others here. */
static void name_cases(void)
{
    static const char text[] =
        HEAD ".visible .global .u32 return = 5;\n"
             ".func (.param .b32 r) system(.param .b32 a)\n{\n.reg .b32 %while;\n"
             "ld.param.u32 %while, [a];\nst.param.b32 [r], %while;\nret;\n}\n"
             ".visible .entry main(.param .u64 int)\n{\n.reg .b32 %asm, $else;\n.reg .b64 %rd<2>;\n"
             "goto:\nld.param.u64 %rd1, [int];\nld.global.u32 %asm, [return];\n"
             "{ .param .b32 a; .param .b32 r;\nst.param.b32 [a], %asm;\ncall.uni (r), system, (a);\n"
             "ld.param.b32 $else, [r]; }\nst.global.u32 [%rd1], $else;\nret;\n}\n";
    CUdeviceptr out = device_words(1);
    void *parameters[] = {&out};
    CUfunction function;
    CUmodule module;

    answer("names that mean something in C", CUDA_SUCCESS, load(text, &module));
    MUST(cuModuleGetFunction(&function, module, "main"));
    MUST(launch_one(function, NULL, parameters));
    MUST(cuCtxSynchronize());
    holds("are only names", word_at(out) == 5);
    MUST(cuModuleUnload(module));
}

static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/*
 * Bytes at random, words of PTX at random, and kernels with some bytes changed. The last end with a
 * directive that PTX does not have, so that no such text can be right by chance.
 */
static void random_cases(void)
{
    static const char *const words[] = {".entry", ".func", ".reg",  ".b32", "%r<9>",  "(",    ")",  "{",
                                        "}",      ";",     "ld",    ".u32", "[",      "]",    ",",  "bra",
                                        "@%p",    "call",  "0x7ff", "1e9",  ".param", ".loc", "\"", "\n"};
    char *kernels = kernels_text(), *text = malloc(strlen(kernels) + 4096);
    size_t size = strlen(kernels);
    unsigned bytes = 0, tokens = 0, changed = 0;
    uint32_t state = 2463534242;

    for (unsigned round = 0; text && round < 300; round++) {
        size_t n = 1 + draw(&state) % 2000;

        for (size_t i = 0; i < n; i++)
            text[i] = (char)(1 + draw(&state) % 255);
        text[n] = 0;
        bytes += is_refused(text);
        strcpy(text, HEAD ".frob ");
        for (unsigned i = 0; i < 200; i++)
            strcat(strcat(text, words[draw(&state) % (sizeof words / sizeof words[0])]), " ");
        memmove(text + strlen(HEAD), text + strlen(HEAD ".frob "), strlen(text + strlen(HEAD ".frob ")) + 1);
        strcat(text, "\n.frob");
        tokens += is_refused(text);
    }
    for (unsigned round = 0; text && round < 100; round++) {
        strcpy(text, kernels);
        for (unsigned i = 0; i < 4; i++)
            text[strlen(HEAD) + draw(&state) % (size - strlen(HEAD))] = (char)(1 + draw(&state) % 255);
        strcat(text, "\n.frob\n");
        changed += is_refused(text);
    }
    holds("bytes at random are refused with a line", bytes == 300);
    holds("words at random are", tokens == 300);
    holds("kernels with bytes changed are", changed == 100);
    free(text);
    free(kernels);
}

/* --- large texts: each a process --- */

enum { MOST_SECONDS = 300, MOST_MEGABYTES = 1536 };

/* So many bytes that repeat `unit` behind the head. The caller frees it. */
static char *repeated(const char *head, const char *unit, size_t size)
{
    size_t n = strlen(head), length = strlen(unit);
    char *text = malloc(size + length + 1);

    if (!text)
        exit(3);
    for (memcpy(text, head, n); n < size; n += length)
        memcpy(text + n, unit, length);
    text[n] = 0;
    return text;
}

static long most_kilobytes(void)
{
    const char *sanitizer = getenv("BATON_SANITIZER");

    /* TSan keeps four bytes about each byte that a program uses. */
    return ((long)MOST_MEGABYTES << 10) * (sanitizer && strcmp(sanitizer, "none") != 0 ? 5 : 1);
}

/* argument: which of them. Ends with 0 if it was refused within the limits. */
static int large_child(const char *argument)
{
    static const struct {
        const char *name, *head, *unit;
        unsigned megabytes;
    } kinds[] = {
        {"blanks", HEAD, " ", 100},
        {"comments", HEAD, "// nothing\n", 100},
        {"instructions", HEAD ".visible .entry f()\n{\n.reg .b32 %r<2>;\n", "add.u32 %r1, %r1, 7;\n", 100},
        {"marks", HEAD, "{", 60},
        {"brackets", HEAD ".visible .entry f()\n{\nld.param.u32 %r1, ", "[", 60},
        {"a word", HEAD ".visible .entry ", "frobnicate", 60},
        {"labels", HEAD ".visible .entry f()\n{\n", "A:", 60},
        {"registers", HEAD ".visible .entry f()\n{\n", ".reg .b32 %r<1048576>;\n", 60},
        {"unending", HEAD ".visible .entry f()\n{\n.reg .b32 %r<2>;\n", "add.u32 %r1, %r1, 7;\n", 20},
    };
    struct rlimit seconds = {MOST_SECONDS, MOST_SECONDS};
    struct rusage usage;
    long before;
    char *text = NULL;
    size_t size = 0;
    bool refused;

    MUST(cuInit(0));
    (void)context_open();
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0] && !text; i++)
        if (strcmp(kinds[i].name, argument) == 0)
            text = repeated(kinds[i].head, kinds[i].unit, size = (size_t)kinds[i].megabytes << 20);
    if (!text)
        return 2;
    setrlimit(RLIMIT_CPU, &seconds);
    getrusage(RUSAGE_SELF, &usage);
    before = usage.ru_maxrss;
    refused = load(text, &(CUmodule){0}) == CUDA_ERROR_INVALID_PTX && strstr(log_text, "expected");
    getrusage(RUSAGE_SELF, &usage);
    free(text);
    if (refused && usage.ru_maxrss - before < most_kilobytes())
        return 0;
    fprintf(stderr, "%s: %s, %ld MB: %s\n", argument, refused ? "refused" : "taken",
            (usage.ru_maxrss - before) >> 10, log_text);
    return 4;
}

/*
 * A function that calls itself without end, or two that call each other. What each does with the
 * answer keeps the C compiler from making a loop of it, which would not end either.
 */
static int cycle_child(const char *argument)
{
#define FUNCTION(name) ".func (.param .b32 r) " name "(.param .b32 a)"
#define BODY(callee)                                                                                         \
    "{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [a];\n{ .param .b32 x; .param .b32 y;\n"                         \
    "st.param.b32 [x], %r1;\ncall.uni (y), " callee ", (x);\nld.param.b32 %r2, [y]; }\n"                     \
    "xor.b32 %r3, %r2, %r1;\nst.param.b32 [r], %r3;\nret;\n}\n"
#define KERNEL                                                                                               \
    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<2>;\n"                            \
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %clock;\n{ .param .b32 x; .param .b32 y;\n"                      \
    "st.param.b32 [x], %r1;\ncall.uni (y), f, (x);\nld.param.b32 %r2, [y]; }\n"                              \
    "st.global.u32 [%d1], %r2;\nret;\n}\n"
    static const char one[] = HEAD FUNCTION("f") BODY("f") KERNEL;
    static const char two[] = HEAD FUNCTION("g") ";\n" FUNCTION("f") BODY("g") FUNCTION("g") BODY("f") KERNEL;
    CUdeviceptr out;
    void *parameters[] = {&out};
    CUfunction function;
    CUmodule module;

    MUST(cuInit(0));
    (void)context_open();
    must(load(strcmp(argument, "two") == 0 ? two : one, &module), log_text);
    MUST(cuModuleGetFunction(&function, module, "k"));
    out = device_words(1);
    MUST(launch_one(function, NULL, parameters));
    if (cuCtxSynchronize() != CUDA_ERROR_HARDWARE_STACK_ERROR)
        return 11;
    return cuMemAlloc_v2(&(CUdeviceptr){0}, 4) == CUDA_ERROR_HARDWARE_STACK_ERROR ? 0 : 12;
}

/* Without a compiler: an error that says what to do. The cache must not have the text. */
static int compiler_child(void)
{
    char text[256];
    CUmodule module;

    snprintf(text, sizeof text,
             HEAD ".visible .entry f()\n{\n.reg .b32 %%r<2>;\nmov.u32 %%r1, %d;\nret;\n}\n", (int)getpid());
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&(CUcontext){0}, 0, 0));
    if (load(text, &module) != CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
        return 11;
    return strstr(log_text, "no C compiler") && strstr(log_text, "BATON_CUDA_CPU_CC") ? 0 : 12;
}

int hostile_child(const char *role, const char *argument)
{
    return strcmp(role, "large") == 0   ? large_child(argument)
           : strcmp(role, "cycle") == 0 ? cycle_child(argument)
                                        : compiler_child();
}

void hostile_group(void)
{
    static const char *const large[] = {"blanks", "comments", "instructions", "marks",   "brackets",
                                        "a word", "labels",   "registers",    "unending"};
    CUcontext context = context_open();

    truncated_cases();
    version_cases();
    text_cases();
    name_cases();
    random_cases();
    context_close(context);
    for (unsigned i = 0; i < sizeof large / sizeof large[0]; i++) {
        char what[64];

        snprintf(what, sizeof what, "a large text is refused within limits: %s", large[i]);
        holds(what, run_child("large", large[i], NULL) == 0);
    }
    holds("a function that calls itself for ever ends its context", run_child("cycle", "one", NULL) == 0);
    holds("two that call each other as well", run_child("cycle", "two", NULL) == 0);
    holds("no compiler by that name", run_child("compiler", NULL, "BATON_CUDA_CPU_CC=/nonexistent/cc") == 0);
    holds("no compiler in the path", run_child("compiler", NULL, "PATH=/nonexistent") == 0);
}
