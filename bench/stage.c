#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { REALTIME_PRIORITY = 40, HUMBLE_PRIORITY = 30, MAX_ARGUMENTS = 40, START_MS = 120000 };

static const struct stage_how ORDINARY = {0};
static struct stage *current; /* for the atexit handler: a program has one stage at a time */

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s: %s\n", what, which, errno ? strerror(errno) : "failed");
    exit(3);
}

static void find_build(struct stage *stage)
{
    ssize_t n = readlink("/proc/self/exe", stage->build, sizeof stage->build - 1);
    char probe[PATH_MAX + 16];

    stage->build[n > 0 ? n : 0] = '\0';
    for (;;) {
        char *slash = strrchr(stage->build, '/');
        if (!slash || slash == stage->build)
            fail("stage", "no build folder with a batond above this program");
        *slash = '\0';
        (void)snprintf(probe, sizeof probe, "%s/batond", stage->build);
        if (access(probe, X_OK) == 0)
            return;
    }
}

static bool realtime_permitted(void)
{
    struct sched_param parameters = {.sched_priority = REALTIME_PRIORITY};
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        _exit(sched_setscheduler(0, SCHED_FIFO, &parameters) == 0 ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void close_current(void)
{
    if (current)
        stage_close(current);
}

static void set_folder(const struct stage *stage, const char *variable, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", stage->folder, name);
    (void)mkdir(path, 0700);
    setenv(variable, path, 1);
}

void stage_open(struct stage *stage, const char *devices)
{
    static bool registered;
    const char *temporary;

    memset(stage, 0, sizeof *stage);
    find_build(stage);
    temporary = getenv("TMPDIR"); /* a short one: there is a socket in it */
    (void)snprintf(stage->folder, sizeof stage->folder, "%.40s/baton-stage-XXXXXX",
                   temporary && strlen(temporary) <= 40 ? temporary : "/tmp");
    if (!mkdtemp(stage->folder))
        fail("stage", stage->folder);
    (void)snprintf(stage->socket, sizeof stage->socket, "%s/baton.sock", stage->folder);
    setenv("BATON_SOCKET", stage->socket, 1);
    set_folder(stage, "POCL_CACHE_DIR", "pocl");
    set_folder(stage, "XDG_CACHE_HOME", "cache");
    setenv("POCL_DEVICES", devices, 0);
    /*
     * PoCL copies with memcpy, which changes its method above a size (about 20 MB here). A copy of
     * 64 MiB then takes 6 ms whole and 10 ms in parts of any size, with or without Baton. A GPU's
     * copy engine knows no such border, so use the same method for all sizes.
     */
    setenv("GLIBC_TUNABLES", "glibc.cpu.x86_non_temporal_threshold=0x7000", 0);
    stage->realtime = realtime_permitted();
    current = stage;
    if (!registered)
        registered = atexit(close_current) == 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *ftw)
{
    (void)about;
    (void)kind;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void stage_close(struct stage *stage)
{
    stage_daemon_stop(stage);
    if (stage->folder[0])
        (void)nftw(stage->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    stage->folder[0] = '\0';
    current = NULL;
}

/* ---- processes ---- */

static void send_output_to(const char *path, int fd)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (file < 0 || dup2(file, fd) < 0)
        _exit(3);
}

static void use_core(unsigned core)
{
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET(core - 1, &only);
    (void)sched_setaffinity(0, sizeof only, &only);
}

static pid_t spawn(const char *const argv[], const char *output, int fd, const struct stage_how *how)
{
    struct sched_param parameters = {.sched_priority = how->humble ? HUMBLE_PRIORITY : REALTIME_PRIORITY};
    pid_t child;

    (void)fflush(NULL);
    child = fork();
    if (child < 0)
        fail("fork", argv[0]);
    if (child > 0)
        return child;
    send_output_to(output, fd);
    if (how->quiet)
        (void)dup2(fd, STDERR_FILENO);
    if (how->core)
        use_core(how->core);
    if (how->realtime)
        (void)sched_setscheduler(0, how->humble ? SCHED_RR : SCHED_FIFO, &parameters);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a bench that gives up leaves no process behind */
    (void)execv(argv[0], (char *const *)(unsigned long)argv);
    _exit(3);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return 128;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool listens(const struct stage *stage)
{
    char baton[PATH_MAX + 8];
    char log[128];
    const char *argv[] = {baton, "status", NULL};

    (void)snprintf(baton, sizeof baton, "%s/baton", stage->build);
    (void)snprintf(log, sizeof log, "%s/status", stage->folder);
    return access(stage->socket, F_OK) == 0 && wait_for(spawn(argv, log, STDOUT_FILENO, &ORDINARY)) == 0;
}

void stage_daemon_start(struct stage *stage, const char *profile, const char *policy)
{
    char batond[PATH_MAX + 8];
    char log[128];
    const char *argv[] = {batond,
                          "--foreground",
                          "--socket",
                          stage->socket,
                          "--profile",
                          profile,
                          policy ? "--policy" : NULL,
                          policy,
                          NULL};
    baton_nsec until_at = clock_now() + START_MS * NSEC_PER_MS;

    (void)snprintf(batond, sizeof batond, "%s/batond", stage->build);
    (void)snprintf(log, sizeof log, "%s/batond.log", stage->folder);
    stage->daemon = spawn(argv, log, STDERR_FILENO, &ORDINARY);
    while (!listens(stage)) {
        if (clock_now() > until_at)
            fail("stage", "batond did not start");
        (void)usleep(20000);
    }
}

void stage_daemon_stop(struct stage *stage)
{
    if (stage->daemon > 0) {
        (void)kill(stage->daemon, SIGTERM);
        (void)wait_for(stage->daemon);
    }
    stage->daemon = 0;
}

void stage_daemon_kill(struct stage *stage)
{
    if (stage->daemon > 0) {
        (void)kill(stage->daemon, SIGKILL);
        (void)wait_for(stage->daemon);
    }
    stage->daemon = 0;
}

static void put(const char *argv[], size_t *n, const char *word, const char *value)
{
    if (!value || *n + 3 > MAX_ARGUMENTS)
        return;
    if (word)
        argv[(*n)++] = word;
    argv[(*n)++] = value;
}

void stage_start(struct stage *stage, struct stage_program *program, const struct stage_how *how,
                 const char *const argv[])
{
    const char *all[MAX_ARGUMENTS + 1] = {0};
    char baton[PATH_MAX + 8];
    char path[PATH_MAX + 64];
    char priority[16];
    size_t n = 0;

    (void)snprintf(baton, sizeof baton, "%s/baton", stage->build);
    (void)snprintf(path, sizeof path, "%s/%s", stage->build, argv[0]);
    (void)snprintf(priority, sizeof priority, "%u", how->priority);
    (void)snprintf(program->output, sizeof program->output, "%s/output.%u", stage->folder, stage->n_outputs);
    (void)snprintf(program->stats, sizeof program->stats, "%s/stats.%u", stage->folder, stage->n_outputs++);
    if (how->baton) {
        put(all, &n, baton, "run");
        put(all, &n, "--priority", how->adaptive ? "adaptive" : how->priority ? priority : NULL);
        put(all, &n, "--name", how->name);
        put(all, &n, "--device", how->device);
        put(all, &n, "--slice", how->slice);
        put(all, &n, "--chunk", how->chunk);
        put(all, &n, "--stats", how->stats ? program->stats : NULL);
        put(all, &n, NULL, "--");
    }
    put(all, &n, NULL, path);
    for (size_t i = 1; argv[i]; i++)
        put(all, &n, NULL, argv[i]);
    program->pid = spawn(all, program->output, STDOUT_FILENO, how);
}

static bool has_line(const char *path, const char *word)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "re");

    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, word, strlen(word)) == 0;
    if (file)
        (void)fclose(file);
    return found;
}

bool stage_await(struct stage_program *program, const char *word, int ms)
{
    baton_nsec until_at = clock_now() + ms * NSEC_PER_MS;
    siginfo_t about;

    while (clock_now() < until_at) {
        if (has_line(program->output, word))
            return true;
        about.si_pid = 0;
        if (waitid(P_PID, (id_t)program->pid, &about, WEXITED | WNOHANG | WNOWAIT) < 0 || about.si_pid)
            return has_line(program->output, word);
        (void)usleep(5000);
    }
    return false;
}

int stage_end(struct stage_program *program, int signal_number)
{
    int status;

    if (program->pid <= 0)
        return 0;
    if (signal_number)
        (void)kill(program->pid, signal_number);
    status = wait_for(program->pid);
    program->pid = 0;
    return status;
}

void stage_run(struct stage *stage, struct stage_program *program, const struct stage_how *how,
               const char *const argv[])
{
    int status;

    stage_start(stage, program, how, argv);
    status = stage_end(program, 0);
    if (status) {
        fprintf(stderr, "%s ended with status %d\n", argv[0], status);
        exit(3);
    }
}

/* ---- what they said ---- */

double stage_value(const struct stage_program *program, const char *name)
{
    char line[4096] = "";
    char last[4096] = "";
    FILE *file = fopen(program->output, "re");
    char *rest = last;
    char *word;

    while (file && fgets(line, sizeof line, file))
        memcpy(last, line, sizeof last);
    if (file)
        (void)fclose(file);
    while ((word = strsep(&rest, " \n"))) {
        if (strcmp(word, name) == 0)
            return rest ? strtod(rest, NULL) : NAN;
    }
    return NAN;
}

double stage_stat(const struct stage_program *program, const char *path)
{
    json_t *all = json_load_file(program->stats, 0, NULL);
    json_t *node = all;
    char names[128];
    char *rest = names;
    char *name;
    double value;

    (void)snprintf(names, sizeof names, "%s", path);
    while (node && (name = strsep(&rest, ".")))
        node = json_object_get(node, name);
    value = json_is_number(node) ? json_number_value(node) : NAN;
    json_decref(all);
    return value;
}

size_t stage_responses(const struct stage_program *program, double ret_ms[], size_t most)
{
    FILE *file = fopen(program->output, "re");
    json_t *all = NULL;
    const json_t *times;
    size_t n = 0;
    int letter;

    while (file && (letter = fgetc(file)) != EOF && letter != '{') { /* what a quiet program said before */
    }
    if (file && fseek(file, -1, SEEK_CUR) == 0)
        all = json_loadf(file, 0, NULL);
    if (file)
        (void)fclose(file);
    times = json_object_get(json_array_get(json_object_get(all, "workloads"), 0), "response_ms");
    for (; n < json_array_size(times) && n < most; n++)
        ret_ms[n] = json_number_value(json_array_get(times, n));
    json_decref(all);
    return n;
}

void stage_claim(const char *what, double measured, bool at_least, double limit, const char *unit)
{
    bool met = at_least ? measured >= limit : measured <= limit;

    printf("  %s, measured %.3f%s, %s %.3f%s, %s\n", what, measured, unit, at_least ? "floor" : "ceiling",
           limit, unit, met ? "met" : "NOT met");
    (void)fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double stage_quantile(double *values, size_t n, double fraction)
{
    size_t index = (size_t)(fraction * (double)n);

    if (!n)
        return NAN;
    qsort(values, n, sizeof *values, compare);
    return values[index < n ? index : n - 1];
}

struct stage_cpu stage_cpu(void)
{
    double ticks[8] = {0}, per_second = (double)sysconf(_SC_CLK_TCK);
    struct stage_cpu cpu = {0, 0};
    FILE *file = fopen("/proc/stat", "re");

    if (file &&
        fscanf(file,
               "cpu %lf %lf %lf %lf %lf %lf %lf %lf", /* NOLINT(cert-err34-c): the kernel's own numbers */
               &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) == 8) {
        cpu.stolen = ticks[7] / per_second;
        for (int i = 0; i < 8; i++)
            cpu.all += ticks[i] / per_second;
    }
    if (file)
        (void)fclose(file);
    return cpu;
}

void stage_spinners(bool on)
{
    enum { MOST = 64 };
    static pid_t spinners[MOST];
    static size_t n;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    while (!on && n > 0) {
        (void)kill(spinners[--n], SIGKILL);
        (void)waitpid(spinners[n], NULL, 0);
    }
    while (on && n < MOST && (long)n < cores) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)setpriority(PRIO_PROCESS, 0, 19);
            for (volatile unsigned i = 0;; i++) {
            }
        }
        if (pid < 0)
            return;
        spinners[n++] = pid;
    }
}
