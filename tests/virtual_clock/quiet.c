#include "quiet.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_THREADS = 1024, TEXT = 256 };

/* A thread with its open files; a program's threads lie next to each other. */
struct thread {
    pid_t program, tid;
    int place, history, state; /* its wchan, schedstat and stat */
    char ran[64];              /* schedstat in the first pass */
    bool waits;                /* for the conductor */
};

static struct thread threads[MAX_THREADS];
static size_t n_threads;
static unsigned found[VIRTUAL_PROGRAMS]; /* threads of each program when it was listed */
static pid_t listed[VIRTUAL_PROGRAMS];
static int folders[VIRTUAL_PROGRAMS]; /* /proc/PID/task, open */

static int open_file(pid_t program, const char *tid, const char *name)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/%s", (int)program, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void forget(pid_t program)
{
    size_t kept = 0;

    for (size_t i = 0; i < n_threads; i++) {
        if (threads[i].program != program) {
            threads[kept++] = threads[i];
            continue;
        }
        (void)close(threads[i].place);
        (void)close(threads[i].history);
        (void)close(threads[i].state);
    }
    n_threads = kept;
}

/* The number of threads, without a look at each; 0: the program has ended. */
static unsigned count(int i, pid_t program)
{
    struct stat about;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)program);
    if ((listed[i] == program ? fstat(folders[i], &about) : stat(path, &about)) < 0)
        return 0;
    return about.st_nlink > 2 ? (unsigned)about.st_nlink - 2 : 0;
}

static void list(int i, pid_t program)
{
    char path[64];
    DIR *folder;

    forget(listed[i]);
    if (listed[i])
        (void)close(folders[i]);
    listed[i] = program;
    found[i] = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)program);
    folders[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry && n_threads < MAX_THREADS;
         entry = readdir(folder)) {
        struct thread *thread = &threads[n_threads];

        if (entry->d_name[0] == '.')
            continue;
        *thread = (struct thread){program,
                                  (pid_t)strtol(entry->d_name, NULL, 10),
                                  open_file(program, entry->d_name, "wchan"),
                                  open_file(program, entry->d_name, "schedstat"),
                                  open_file(program, entry->d_name, "stat"),
                                  {0},
                                  false};
        n_threads++;
        found[i]++;
    }
    if (folder)
        (void)closedir(folder);
}

static void bury(struct virtual_clock *clock, pid_t program)
{
    for (int s = 0, used = atomic_load(&clock->used); s < used; s++) {
        if (atomic_load(&clock->sleepers[s].pid) == program &&
            atomic_load(&clock->sleepers[s].state) != SLEEPER_FREE) {
            atomic_store(&clock->sleepers[s].pid, 0);
            atomic_store(&clock->sleepers[s].state, SLEEPER_FREE);
        }
    }
    forget(program);
    for (int i = 0; i < VIRTUAL_PROGRAMS; i++) {
        if (listed[i] == program)
            (void)close(folders[i]);
        listed[i] = listed[i] == program ? 0 : listed[i];
        if (atomic_load(&clock->programs[i]) == program)
            atomic_store(&clock->programs[i], 0);
    }
}

/* A program enrols again when it becomes another program by exec(). */
static bool is_twice(const struct virtual_clock *clock, int i)
{
    for (int before = 0; before < i; before++) {
        if (atomic_load(&clock->programs[before]) == atomic_load(&clock->programs[i]))
            return true;
    }
    return false;
}

/* False: threads have come or gone; the next look sees them. */
static bool same_threads(struct virtual_clock *clock)
{
    bool same = true;

    for (int i = 0; i < VIRTUAL_PROGRAMS; i++) {
        pid_t program = atomic_load(&clock->programs[i]);
        unsigned n = program && !is_twice(clock, i) ? count(i, program) : 0;

        if (program && n == 0 && !is_twice(clock, i))
            bury(clock, program);
        if (n == 0 || (listed[i] == program && found[i] == n))
            continue;
        list(i, program);
        same = false;
    }
    return same;
}

static bool read_text(int fd, char ret_text[TEXT])
{
    ssize_t n = pread(fd, ret_text, TEXT - 1, 0);

    ret_text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* The thread has ended: its program is listed again. */
static void relist(pid_t program)
{
    for (int i = 0; i < VIRTUAL_PROGRAMS; i++)
        found[i] = listed[i] == program ? 0 : found[i];
}

/*
 * What a thread waits for often tells enough; it is "0" for one that runs and one that has ended. A
 * stopped thread (SIGSTOP, a debugger) does not sleep: it may be in the middle of a computation,
 * which takes no time on this clock.
 */
static bool sleeps(const struct thread *thread)
{
    static const char *const waits[] = {"futex_", "do_epoll_wait", "ep_poll", "poll_schedule_timeout",
                                        "hrtimer_nanosleep"};
    char text[TEXT];
    const char *after;
    bool known = read_text(thread->place, text);

    for (size_t i = 0; known && i < sizeof waits / sizeof *waits; i++) {
        if (strncmp(text, waits[i], strlen(waits[i])) == 0)
            return true;
    }
    known = known && strcmp(text, "0") != 0;
    if (!read_text(thread->state, text)) {
        relist(thread->program);
        return false;
    }
    after = strrchr(text, ')'); /* of the program's name, which may hold anything */
    return after && strchr(known ? "SZX" : "ZX", after[2]);
}

/* It waits for the conductor: until it is woken it does nothing but go to sleep. */
static bool is_sleeper(struct virtual_clock *clock, const struct thread *thread)
{
    for (int i = 0, used = atomic_load(&clock->used); i < used; i++) {
        struct virtual_sleeper *sleeper = &clock->sleepers[i];

        if (atomic_load(&sleeper->state) == SLEEPER_WAITS && !atomic_load(&sleeper->woken) &&
            atomic_load(&sleeper->tid) == thread->tid)
            return true;
    }
    return false;
}

static bool note_history(struct thread *thread)
{
    char ran[TEXT];

    if (!read_text(thread->history, ran)) {
        relist(thread->program);
        return false;
    }
    (void)snprintf(thread->ran, sizeof thread->ran, "%.63s", ran);
    return true;
}

static bool has_run(const struct thread *thread)
{
    char ran[TEXT];

    return !read_text(thread->history, ran) || strncmp(thread->ran, ran, sizeof thread->ran - 1) != 0;
}

bool quiet_all(struct virtual_clock *clock)
{
    static size_t awake; /* the thread that was awake at the last call */

    if (awake < n_threads && !is_sleeper(clock, &threads[awake]) && !sleeps(&threads[awake])) {
        (void)same_threads(clock);
        return false;
    }
    for (size_t i = 0; i < n_threads; i++) {
        threads[i].waits = is_sleeper(clock, &threads[i]);
        if (!threads[i].waits && !note_history(&threads[i]))
            break;
    }
    for (size_t i = 0; i < n_threads; i++) {
        if (!threads[i].waits && (!sleeps(&threads[i]) || has_run(&threads[i]))) {
            awake = i;
            (void)same_threads(clock);
            return false;
        }
    }
    return same_threads(clock);
}
