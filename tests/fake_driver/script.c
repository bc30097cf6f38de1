#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum verb { DURATION, LAG, GROUP_NS, FAIL, ABORT, CLOCK, SLOW, ABORT_ON, POINTERS };

static struct line {
    enum verb verb;
    char call[FAKE_NAME];
    long a, b;
    atomic_long seen;
} lines[64];
static size_t n_lines;
static bool synchronous, old_version, uneven, late, reuse;
static size_t twin_group = 1024;
static cl_uint devices = 2;
static cl_version buffers = CL_MAKE_VERSION(0, 9, 0);
static int log_fd = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static cl_version read_version(const char *text)
{
    unsigned major = 0, minor = 0, patch = 0;

    (void)sscanf(text, "%u.%u.%u", &major, &minor, &patch);
    return CL_MAKE_VERSION(major, minor, patch);
}

static cl_uint read_devices(const char *text)
{
    unsigned long n = strtoul(text, NULL, 10);

    return n == 0 ? 1 : n > FAKE_MAX_DEVICES ? FAKE_MAX_DEVICES : (cl_uint)n;
}

static void read_entry(char *entry)
{
    char verb[16] = "", call[FAKE_NAME] = "";
    long a = 0, b = 0;
    struct line *line = &lines[n_lines];

    if (sscanf(entry, " %15s %63s %ld %ld", verb, call, &a, &b) < 1)
        return;
    if (!strcmp(verb, "sync"))
        synchronous = true;
    else if (!strcmp(verb, "uneven"))
        uneven = true;
    else if (!strcmp(verb, "late"))
        late = true;
    else if (!strcmp(verb, "reuse"))
        reuse = true;
    else if (!strcmp(verb, "twin_group"))
        twin_group = strtoul(call, NULL, 10);
    else if (!strcmp(verb, "devices"))
        devices = read_devices(call);
    else if (!strcmp(verb, "version"))
        old_version = !strcmp(call, "1.2");
    else if (!strcmp(verb, "buffers"))
        buffers = read_version(call);
    if (n_lines == sizeof lines / sizeof lines[0])
        return;
    line->verb = !strcmp(verb, "duration")   ? DURATION
                 : !strcmp(verb, "lag")      ? LAG
                 : !strcmp(verb, "group_ns") ? GROUP_NS
                 : !strcmp(verb, "fail")     ? FAIL
                 : !strcmp(verb, "clock")    ? CLOCK
                 : !strcmp(verb, "slow")     ? SLOW
                 : !strcmp(verb, "abort_on") ? ABORT_ON
                 : !strcmp(verb, "pointers") ? POINTERS
                                             : ABORT;
    (void)snprintf(line->call, sizeof line->call, "%s", call);
    line->a = a;
    line->b = b;
    n_lines++;
}

static void read_script(void)
{
    const char *text = getenv("FAKE_CL");
    const char *log = getenv("FAKE_CL_LOG");
    char *copy = text ? strdup(text) : NULL;
    char *rest = NULL;

    for (char *entry = copy ? strtok_r(copy, ";", &rest) : NULL; entry; entry = strtok_r(NULL, ";", &rest))
        read_entry(entry);
    free(copy);
    if (log)
        log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static long find(enum verb verb, const char *call, long missing)
{
    pthread_once(&once, read_script);
    for (size_t i = 0; i < n_lines; i++)
        if (lines[i].verb == verb && !strcmp(lines[i].call, call))
            return lines[i].a;
    return missing;
}

static cl_int count(enum verb verb, const char *call)
{
    cl_int code = CL_SUCCESS;

    pthread_once(&once, read_script);
    for (size_t i = 0; i < n_lines; i++)
        if (lines[i].verb == verb && !strcmp(lines[i].call, call)) {
            long nth = atomic_fetch_add(&lines[i].seen, 1) + 1;
            if (lines[i].a == 0 || lines[i].a == nth)
                code = (cl_int)lines[i].b;
        }
    return code;
}

cl_int fake_script_fail(const char *call)
{
    return count(FAIL, call);
}

cl_int fake_script_abort(const char *call)
{
    return count(ABORT, call);
}

int64_t fake_script_duration(const char *call)
{
    return find(DURATION, call, 0) * 1000;
}

int64_t fake_script_lag(const char *call)
{
    int64_t lag = find(LAG, call, 0) * 1000;

    return lag ? fake_now() + lag : 0;
}

int64_t fake_script_group_ns(const char *kernel)
{
    return find(GROUP_NS, kernel, 0);
}

long fake_script_pointers(const char *kernel)
{
    return find(POINTERS, kernel, -1);
}

/* The device's number, as a script writes it. */
static const char *number_of(const struct _cl_device_id *device)
{
    static const char *const numbers[FAKE_MAX_DEVICES] = {"0", "1", "2", "3", "4", "5", "6", "7"};

    return numbers[device - fake_devices];
}

int64_t fake_script_slowness(const struct _cl_device_id *device)
{
    return find(SLOW, number_of(device), 100);
}

cl_int fake_script_abort_on(const struct _cl_device_id *device)
{
    return count(ABORT_ON, number_of(device));
}

cl_uint fake_script_devices(void)
{
    pthread_once(&once, read_script);
    return devices;
}

cl_version fake_script_buffers(void)
{
    pthread_once(&once, read_script);
    return buffers;
}

size_t fake_script_twin_group(void)
{
    pthread_once(&once, read_script);
    return twin_group;
}

bool fake_script_uneven(void)
{
    pthread_once(&once, read_script);
    return uneven;
}

bool fake_script_late(void)
{
    pthread_once(&once, read_script);
    return late;
}

bool fake_script_reuse(void)
{
    pthread_once(&once, read_script);
    return reuse;
}

bool fake_script_sync(void)
{
    pthread_once(&once, read_script);
    return synchronous;
}

bool fake_script_old(void)
{
    pthread_once(&once, read_script);
    return old_version;
}

int64_t fake_profiling_now(void)
{
    return fake_now() + find(CLOCK, "ahead", 0) * 1000;
}

int64_t fake_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void fake_script_log(const char *call, unsigned queue, int64_t begin, int64_t end, size_t groups,
                     size_t bytes, size_t active)
{
    char line[160];
    int n;

    if (log_fd < 0)
        return;
    n = snprintf(line, sizeof line, "%s %u %lld %lld %zu %zu %zu %d\n", call, queue, (long long)begin,
                 (long long)end, groups, bytes, active, (int)gettid());
    if (write(log_fd, line, (size_t)n) != n)
        log_fd = -1;
}
