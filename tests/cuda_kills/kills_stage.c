#include "kills_stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda_cpu/driver/arrival.h"
#include "harness.h"

static baton_nsec deadline(void)
{
    return clock_now() + (baton_nsec)harness_limit(600) * NSEC_PER_SEC;
}

void kills_pause(unsigned ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    while (nanosleep(&wait, &wait) < 0 && errno == EINTR) {
    }
}

/* --- the folder --- */

static void set_path(const struct kills_stage *stage, const char *variable, const char *name, bool make)
{
    char path[KILLS_PATH];

    (void)snprintf(path, sizeof path, "%s/%s", stage->folder, name);
    ck_assert(!make || mkdir(path, 0700) == 0);
    ck_assert_int_eq(setenv(variable, path, 1), 0);
}

void kills_open(struct kills_stage *stage, unsigned gpus)
{
    const char *build = getenv("BATON_BUILD"), *source = getenv("BATON_SOURCE");
    char compiler[PATH_MAX], number[12];

    *stage = (struct kills_stage){.gpus = gpus};
    ck_assert_msg(build && source, "BATON_BUILD and BATON_SOURCE: expected two folders");
    (void)snprintf(stage->build, sizeof stage->build, "%s", build);
    (void)snprintf(stage->source, sizeof stage->source, "%s", source);
    (void)snprintf(compiler, sizeof compiler, "%s/tests/cuda_front/quick_cc", source);
    (void)snprintf(number, sizeof number, "%u", gpus);
    harness_folder(stage->folder);
    set_path(stage, "BATON_SOCKET", "socket", false);
    set_path(stage, "XDG_RUNTIME_DIR", "runtime", true);
    set_path(stage, "HOME", "home", true);
    set_path(stage, "TMPDIR", "tmp", true);
    set_path(stage, "BATON_CACHE_DIR", "cache", true);
    set_path(stage, "BATON_CUDA_CPU_ENGINES", "engines", false);
    set_path(stage, "OCL_ICD_VENDORS", "no-vendors", true); /* the only devices are the CUDA ones */
    ck_assert_int_eq(setenv("BATON_CUDA_CPU_CC", compiler, 1), 0);
    ck_assert_int_eq(setenv("BATON_CUDA_CPU_DEVICES", number, 1), 0);
    (void)unsetenv("LD_LIBRARY_PATH"); /* the build's own: `baton run` finds its libraries itself */
}

void kills_configure(struct kills_stage *stage, const char *migration)
{
    FILE *file;

    (void)snprintf(stage->config, sizeof stage->config, "%s/config", stage->folder);
    file = fopen(stage->config, "we");
    ck_assert_ptr_nonnull(file);
    if (migration)
        (void)fprintf(file,
                      "profile: gpusync\ngpu_cluster: %u\ndevices: %u\ntokens_per_gpu: 1\nmigration: %s\n",
                      stage->gpus, stage->gpus, migration);
    else
        (void)fprintf(file, "profile: priority\n");
    ck_assert_int_eq(fclose(file), 0);
}

/* --- processes --- */

/* In the child: what it prints goes to the file. */
static void become(char *const argv[], const char *output)
{
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that fails leaves no process behind */
    if (file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && dup2(file, STDERR_FILENO) >= 0)
        (void)execvp(argv[0], argv);
    _exit(126);
}

void kills_put(struct kills_words *words, const char *format, ...)
{
    char *at = words->text + words->used;
    va_list values;
    int n;

    va_start(values, format);
    n = vsnprintf(at, sizeof words->text - words->used, format, values);
    va_end(values);
    ck_assert(n >= 0 && words->used + (size_t)n < sizeof words->text && words->n < KILLS_WORDS);
    words->argv[words->n++] = at;
    words->used += (size_t)n + 1;
}

static pid_t spawn(const struct kills_words *words, const char *output)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(words->argv, output);
    return pid;
}

static void last_words(const char *path, char ret_text[1024])
{
    FILE *file = fopen(path, "re");
    size_t n = 0;

    if (file) {
        (void)fseek(file, -1000, SEEK_END);
        n = fread(ret_text, 1, 1000, file);
        (void)fclose(file);
    }
    ret_text[n] = 0;
}

static json_t *status_of(const struct kills_stage *stage)
{
    char command[PATH_MAX];
    json_t *status = NULL;
    FILE *pipe;

    (void)snprintf(command, sizeof command, "'%s/baton' status --json 2>&1", stage->build);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed command of ours */
    if (pipe) {
        status = json_loadf(pipe, 0, NULL);
        (void)pclose(pipe);
    }
    return status;
}

void kills_daemon_start(struct kills_stage *stage)
{
    struct kills_words words = {0};
    char output[KILLS_PATH], said[1024];
    const baton_nsec until_at = deadline();
    json_t *status = NULL;

    kills_put(&words, "%s/batond", stage->build);
    kills_put(&words, "--foreground");
    kills_put(&words, "--socket");
    kills_put(&words, "%s/socket", stage->folder);
    if (stage->config[0]) {
        kills_put(&words, "--config");
        kills_put(&words, "%s", stage->config);
    }
    (void)snprintf(output, sizeof output, "%s/batond.log", stage->folder);
    stage->daemon = spawn(&words, output);
    while (!(status = status_of(stage)) && clock_now() < until_at &&
           waitpid(stage->daemon, NULL, WNOHANG) == 0)
        kills_pause(5);
    last_words(output, said);
    ck_assert_msg(status, "batond did not start: %s", said);
    json_decref(status);
}

void kills_daemon_signal(struct kills_stage *stage, int signal_number)
{
    ck_assert_int_eq(kill(stage->daemon, signal_number), 0);
    stage->daemon_stopped = signal_number == SIGSTOP;
}

/*
 * Only a stopped batond is continued. SIGCONT also discards a SIGSTOP that has not arrived yet:
 * LeakSanitizer sends one to a process that ends, and would wait for it for ever.
 */
void kills_daemon_end(struct kills_stage *stage, int signal_number)
{
    bool stopped = stage->daemon_stopped;
    int status;

    if (!stage->daemon)
        return;
    kills_daemon_signal(stage, signal_number);
    if (stopped && signal_number != SIGKILL)
        kills_daemon_signal(stage, SIGCONT);
    while (waitpid(stage->daemon, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    ck_assert_msg(signal_number == SIGKILL || status == 0, "batond ended with %#x", (unsigned)status);
    stage->daemon = 0;
    stage->daemon_stopped = false;
}

static void put_run(const struct kills_stage *stage, struct kills_words *words, const char *options)
{
    kills_put(words, "%s/baton", stage->build);
    kills_put(words, "run");
    kills_put(words, "--device");
    kills_put(words, "cpu");
    for (const char *at = options; at && *at; at += strcspn(at, " "), at += *at == ' ')
        kills_put(words, "%.*s", (int)strcspn(at, " "), at);
    kills_put(words, "--");
}

void kills_start(struct kills_stage *stage, struct kills_program *program, struct kills_way way,
                 const struct kills_words *arguments)
{
    struct kills_words words = {0};
    size_t used = 0;

    *program = (struct kills_program){0};
    (void)snprintf(program->output, sizeof program->output, "%s/out.%u", stage->folder,
                   stage->n_outputs++ % 64);
    kills_put(&words, "env");
    if (way.variable)
        kills_put(&words, "%s", way.variable);
    if (way.baton)
        put_run(stage, &words, way.options);
    else
        kills_put(&words, "LD_LIBRARY_PATH=%s/cuda-cpu", stage->build);
    kills_put(&words, "%s/%s", stage->build, arguments->argv[0]);
    for (size_t i = 1; i < arguments->n; i++)
        kills_put(&words, "%s", arguments->argv[i]);
    for (size_t i = 0; i < words.n; i++)
        used +=
            (size_t)snprintf(program->command + used, sizeof program->command - used, "%s ", words.argv[i]);
    program->pid = spawn(&words, program->output);
}

void kills_signal(struct kills_program *program, int signal_number)
{
    ck_assert_int_eq(kill(program->pid, signal_number), 0);
    program->stopped = signal_number == SIGSTOP;
}

void kills_kill(struct kills_program *program)
{
    kills_signal(program, SIGKILL);
    while (waitpid(program->pid, NULL, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    program->pid = 0;
}

bool kills_ended(struct kills_program *program)
{
    char said[1024];
    int status = 0;
    pid_t pid = waitpid(program->pid, &status, WNOHANG);

    if (pid == 0)
        return false;
    ck_assert_int_eq(pid, program->pid);
    last_words(program->output, said);
    ck_assert_msg(status == 0, "%s\nended with %#x: %s", program->command, (unsigned)status, said);
    program->pid = 0;
    return true;
}

/* For a person who looks at a program that hangs. */
static void tell(const struct kills_stage *stage, const struct kills_program *program)
{
    char command[PATH_MAX];
    json_t *status = status_of(stage);

    (void)fprintf(stderr, "%s\ndoes not end; process %d\n", program->command, (int)program->pid);
    if (status)
        (void)json_dumpf(status, stderr, JSON_INDENT(1));
    json_decref(status);
    (void)snprintf(command, sizeof command,
                   "for at in /proc/%d/task/*; do cat $at/comm $at/wchan $at/syscall; done >&2",
                   (int)program->pid);
    (void)!system(command); /* NOLINT(cert-env33-c): a fixed command of ours */
}

void kills_await(struct kills_stage *stage, struct kills_program *program)
{
    const baton_nsec until_at = deadline();

    while (!kills_ended(program)) {
        if (clock_now() > until_at) {
            tell(stage, program);
            ck_abort_msg("a program hangs");
        }
        kills_pause(2);
    }
}

void kills_close(struct kills_stage *stage)
{
    kills_daemon_end(stage, SIGTERM);
}

/* --- what must be true --- */

static bool is_idle(const json_t *status)
{
    const json_t *engine;
    size_t i;

    json_array_foreach(json_object_get(status, "engines"), i, engine)
    {
        if (!json_is_null(json_object_get(engine, "holder")) ||
            json_integer_value(json_object_get(engine, "waiting")) != 0)
            return false;
    }
    return json_is_array(json_object_get(status, "clients")) &&
           json_array_size(json_object_get(status, "clients")) == 0;
}

/* The device's queues, as the programs see them: a ticket of a dead process is passed over. */
static void assert_queues_pass(const struct kills_stage *stage)
{
    struct arrival_file *file;
    const _Atomic bool never = false;
    uint64_t ticket;

    ck_assert_int_eq(arrival_open(&file), 0);
    for (unsigned device = 0; device < stage->gpus; device++)
        for (unsigned engine = 0; engine < ARRIVAL_ENGINES; engine++) {
            ck_assert(arrival_enter(file, device, engine, &never, &ticket));
            arrival_leave(file, device, engine, ticket);
            ck_assert_uint_eq(arrival_waiting(file, device, engine), 0);
        }
    arrival_close(file);
}

void kills_nothing_held(struct kills_stage *stage)
{
    const baton_nsec until_at = deadline();
    json_t *status = NULL;
    char *text;

    do {
        json_decref(status);
        status = status_of(stage);
        if (is_idle(status))
            break;
        kills_pause(5);
    } while (clock_now() < until_at);
    text = json_dumps(status, JSON_INDENT(1));
    ck_assert_msg(is_idle(status), "batond holds something: %s", text);
    free(text);
    json_decref(status);
    assert_queues_pass(stage);
}

static bool has_text(pid_t pid, const char *file_name, const char *text)
{
    static char bytes[1 << 17];
    char path[64];
    size_t n = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file_name);
    file = fopen(path, "re");
    if (file) {
        n = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
    }
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

/*
 * A process whose environment names the folder's socket, other than this one and batond; 0: none.
 * name: of its program; NULL: any.
 */
static pid_t find_process(const struct kills_stage *stage, const char *name)
{
    char wanted[KILLS_PATH];
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    pid_t found = 0;

    (void)snprintf(wanted, sizeof wanted, "BATON_SOCKET=%s/socket", stage->folder);
    while (!found && (entry = readdir(processes))) { /* NOLINT(concurrency-mt-unsafe): one thread */
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && pid != getpid() && pid != stage->daemon && (!name || has_text(pid, "comm", name)) &&
            has_text(pid, "environ", wanted))
            found = pid;
    }
    (void)closedir(processes);
    return found;
}

void kills_kill_translator(struct kills_stage *stage)
{
    pid_t pid = find_process(stage, "baton-cut");

    if (pid)
        (void)kill(pid, SIGKILL);
}

/* A compiler whose program died ends by itself. */
static void assert_no_process(const struct kills_stage *stage)
{
    const baton_nsec until_at = deadline();
    char path[64], command[1024];
    pid_t pid;

    while ((pid = find_process(stage, NULL)) && clock_now() < until_at)
        kills_pause(5);
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    last_words(path, command);
    ck_assert_msg(!pid, "process %d is left: %s", (int)pid, command);
}

/* ret_name: one of the folder that begins so; "": none. */
static void first_file(const struct kills_stage *stage, const char *folder, char begin, char ret_name[256])
{
    char path[KILLS_PATH];
    const struct dirent *entry;
    DIR *files;

    (void)snprintf(path, sizeof path, "%s/%s", stage->folder, folder);
    files = opendir(path);
    ret_name[0] = 0;
    while (files && (entry = readdir(files))) /* NOLINT(concurrency-mt-unsafe): one thread */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            (!begin || entry->d_name[0] == begin))
            (void)snprintf(ret_name, 256, "%s", entry->d_name);
    if (files)
        (void)closedir(files);
}

void kills_nothing_left(struct kills_stage *stage)
{
    static const char *const folders[] = {"tmp", "runtime", "home"};
    char name[256];

    assert_no_process(stage);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        first_file(stage, folders[i], 0, name);
        ck_assert_msg(!name[0], "%s/%s is left", folders[i], name);
    }
}

/* --- the cache --- */

static void spoil(const char *path, unsigned how)
{
    static const char garbage[] = "BATN\xff\xff\xff\x7f nothing that was ever written";
    struct stat about;
    FILE *file;

    switch (how) {
    case 0:
        if (stat(path, &about) == 0)
            (void)!truncate(path, about.st_size / 2);
        break;
    case 1:
        file = fopen(path, "we");
        ck_assert_ptr_nonnull(file);
        (void)fwrite(garbage, 1, sizeof garbage, file);
        (void)fclose(file);
        break;
    default:
        (void)chmod(path, 0);
        break;
    }
}

void kills_spoil_cache(struct kills_stage *stage, uint64_t random)
{
    char folder[KILLS_PATH], path[KILLS_PATH + 256];
    const struct dirent *entry;
    bool all = random % 4 == 0;
    unsigned skipped = (unsigned)(random / 4 % 8);
    DIR *files;

    (void)snprintf(folder, sizeof folder, "%s/cache/translate", stage->folder);
    files = opendir(folder);
    while (files && (entry = readdir(files))) { /* NOLINT(concurrency-mt-unsafe): one thread */
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || (!all && skipped--))
            continue;
        if (!all) {
            spoil(path, (unsigned)(random / 32 % 3));
            break;
        }
        (void)unlink(path);
    }
    if (files)
        (void)closedir(files);
}
