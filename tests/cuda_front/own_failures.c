/*
 * The CPU device with failures of the calls that Baton makes for itself, and of no call of the
 * program. BATON_OWN_FAIL=NAME:COUNT:CODE makes the COUNT-th such call of the name answer CODE; 0:
 * every one. The call has no effect then. BATON_CUDA_CPU_FAIL works as ever.
 *
 * A call is Baton's own if it comes from libbaton-layer.so. Names that the front routes reach the
 * driver from there for the program, too: tests take only names that it passes.
 */
#define inject_call inject_any_call
#include "cuda_cpu/driver/inject.c" /* NOLINT(bugprone-suspicious-include) */
#undef inject_call

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>

enum { FRAMES = 16 };

static struct {
    pthread_once_t once;
    struct inject_rule rule;
    atomic_ulong n;
} own = {.once = PTHREAD_ONCE_INIT};

static void read_own(void)
{
    const char *script = getenv("BATON_OWN_FAIL");

    if (script && !read_rule(script, strlen(script), &own.rule))
        fprintf(stderr, "own failures: expected NAME:COUNT:CODE, found '%s'\n", script);
}

/* The first frame outside of this library is the caller's. */
static bool comes_from_baton(void)
{
    void *frames[FRAMES];
    int n = backtrace(frames, FRAMES);
    Dl_info here, at;

    if (!dladdr((void *)(uintptr_t)comes_from_baton, &here))
        return false;
    for (int i = 0; i < n; i++)
        if (dladdr(frames[i], &at) && at.dli_fbase != here.dli_fbase)
            return at.dli_fname && strstr(at.dli_fname, "libbaton-layer.so");
    return false;
}

int inject_call(const char *name);
int inject_call(const char *name)
{
    pthread_once(&own.once, read_own);
    if (strcmp(own.rule.name, name) == 0 && comes_from_baton() &&
        (atomic_fetch_add(&own.n, 1) + 1 == own.rule.at || own.rule.at == 0))
        return own.rule.code;
    return inject_any_call(name);
}
