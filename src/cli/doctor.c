/* baton doctor: what works on this machine, and how to fix what does not. */
#include <errno.h>
#include <jansson.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/subcommand.h"
#include "cli/installed.h"
#include "cli/monitor.h"
#include "cli/probe.h"
#include "wire/socket_path.h"

void doctor_find(struct doctor_report *report, enum doctor_finding finding, const char *what,
                 const char *detail, const char *advice)
{
    static const char *const names[] = {"works", "limited", "broken"};

    report->essential_broken |= finding == DOCTOR_BROKEN;
    json_array_append_new(report->findings,
                          json_pack("{s:s, s:s, s:s, s:s}", "what", what, "state", names[finding], "detail",
                                    detail, "advice", advice ? advice : ""));
}

static void check_devices(struct doctor_report *report, const json_t *probe)
{
    size_t devices = 0;
    size_t i;
    size_t k;
    json_t *platform;
    json_t *device;

    json_array_foreach(json_object_get(probe, "platforms"), i, platform)
    {
        json_array_foreach(json_object_get(platform, "devices"), k, device)
        {
            const json_t *engines = json_object_get(device, "copy_engines");
            char detail[512];
            char copies[64] = "copy engines unknown, 2 assumed";

            if (json_is_integer(engines))
                (void)snprintf(copies, sizeof copies, "%lld copy engine(s)",
                               (long long)json_integer_value(engines));
            (void)snprintf(detail, sizeof detail, "%s (%s, %lld compute units, 1 execution engine, %s)",
                           json_string_value(json_object_get(device, "name")),
                           json_string_value(json_object_get(device, "type")),
                           (long long)json_integer_value(json_object_get(device, "compute_units")), copies);
            doctor_find(report, DOCTOR_WORKS, json_string_value(json_object_get(platform, "name")), detail,
                        NULL);
            devices++;
        }
    }
    if (devices == 0)
        doctor_find(report, DOCTOR_BROKEN, "OpenCL devices", "none found",
                    "install a driver for your GPU, or pocl-opencl-icd to use the CPU as a device");
}

static void check_opencl(struct doctor_report *report)
{
    char layer[PATH_MAX];
    bool found = installed_find("libbaton-layer.so", layer, sizeof layer) == 0;
    const char *error;
    json_t *probe = probe_opencl(found ? layer : NULL);

    if (!probe)
        return;
    error = json_string_value(json_object_get(probe, "error"));
    if (error) {
        doctor_find(report, DOCTOR_BROKEN, "OpenCL", error,
                    "install ocl-icd-libopencl1 and a driver, for example pocl-opencl-icd");
    } else {
        char detail[PATH_MAX + 32];

        (void)snprintf(detail, sizeof detail, "%s (%s)", json_string_value(json_object_get(probe, "loader")),
                       json_string_value(json_object_get(probe, "loader_name")));
        doctor_find(report, DOCTOR_WORKS, "OpenCL loader", detail, NULL);
        if (!found)
            doctor_find(report, DOCTOR_LIMITED, "layer",
                        "libbaton-layer.so is neither beside this program nor among its libraries",
                        "build or install Baton completely; analysis and simulation work without it");
        else if (json_is_true(json_object_get(probe, "layer_loaded")))
            doctor_find(report, DOCTOR_WORKS, "layer", "the loader accepts OPENCL_LAYERS", NULL);
        else
            doctor_find(report, DOCTOR_BROKEN, "layer", "the loader ignores OPENCL_LAYERS",
                        "use ocl-icd 2.3 or newer as libOpenCL.so.1: programs would run unscheduled");
        check_devices(report, probe);
    }
    json_decref(probe);
}

bool doctor_rewrites(const char *program, const char *text)
{
    ssize_t length = (ssize_t)strlen(text);
    int source = memfd_create("kernel", MFD_CLOEXEC);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status = 1;
    pid_t child = -1;

    if (source >= 0 && nowhere >= 0 && write(source, text, (size_t)length) == length &&
        lseek(source, 0, SEEK_SET) == 0)
        child = fork();
    if (child == 0) {
        if (dup2(source, STDIN_FILENO) >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
            dup2(nowhere, STDERR_FILENO) >= 0)
            (void)execl(program, program, "/dev/stdin", (char *)NULL);
        _exit(127);
    }
    if (source >= 0)
        (void)close(source);
    if (nowhere >= 0)
        (void)close(nowhere);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_rewriting(struct doctor_report *report)
{
    /* This kernel needs libclang and clang's OpenCL headers. */
    static const char kernel[] = "__kernel void k(__global float4 *a) { a[get_global_id(0)] = sqrt(a[0]); }";
    const char *program = getenv("BATON_TRANSLATE");
    char path[PATH_MAX];

    if (!program && installed_find("baton-translate", path, sizeof path) == 0)
        program = path;
    if (program && doctor_rewrites(program, kernel))
        doctor_find(report, DOCTOR_WORKS, "kernel rewriting", "baton-translate cuts kernels into pieces",
                    NULL);
    else
        doctor_find(report, DOCTOR_LIMITED, "kernel rewriting",
                    "baton-translate does not run here: kernels stay whole",
                    "install libclang and clang's OpenCL headers of the version that Baton was built with "
                    "(libclang-common-N-dev)");
}

/* Tries it in a child, because the limits do not show what a container allows. */
static bool may_use_fifo(void)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0) {
        struct sched_param parameters = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

        _exit(sched_setscheduler(0, SCHED_FIFO, &parameters) == 0 ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_real_time(struct doctor_report *report)
{
    struct rlimit memory = {0};

    if (may_use_fifo())
        doctor_find(report, DOCTOR_WORKS, "real-time scheduling", "SCHED_FIFO is permitted", NULL);
    else
        doctor_find(report, DOCTOR_LIMITED, "real-time scheduling",
                    "SCHED_FIFO is not permitted: order is kept, no bound is claimed",
                    "give the user an rtprio limit of 99 (/etc/security/limits.d); for gpusync it suffices "
                    "that the daemon has CAP_SYS_NICE");
    getrlimit(RLIMIT_MEMLOCK, &memory);
    if (geteuid() == 0 || memory.rlim_cur == RLIM_INFINITY || memory.rlim_cur >= (rlim_t)64 << 20)
        doctor_find(report, DOCTOR_WORKS, "locked memory", "the daemon can lock its pages", NULL);
    else
        doctor_find(report, DOCTOR_LIMITED, "locked memory", "the limit is below 64 MiB",
                    "give the user a memlock limit of 65536 KiB or more");
}

/*
 * Could batond create its socket there? Looks at the folder, or at its parent if batond would
 * create the folder.
 */
static bool is_usable(const char *path, char ret_folder[SOCKET_PATH_SIZE])
{
    for (unsigned up = 0; up < 2; up++) {
        struct stat status;
        char *slash;

        if (up == 0)
            memcpy(ret_folder, path, strlen(path) + 1);
        slash = strrchr(ret_folder, '/');
        if (!slash)
            (void)snprintf(ret_folder, SOCKET_PATH_SIZE, ".");
        else
            slash[slash == ret_folder] = 0;
        if (stat(ret_folder, &status) == 0)
            return S_ISDIR(status.st_mode) && access(ret_folder, W_OK) == 0;
    }
    return false;
}

/* Where this user's batond listens; $BATON_SOCKET overrides. */
static void check_socket_folder(struct doctor_report *report)
{
    const char *given = getenv("BATON_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool named = given && given[0];
    char path[SOCKET_PATH_SIZE];
    char folder[SOCKET_PATH_SIZE];
    char detail[3 * SOCKET_PATH_SIZE];
    int result = socket_path_candidate(given, 0, path);

    if (result) {
        doctor_find(report, DOCTOR_BROKEN, "socket folder", "the socket's path is longer than Linux allows",
                    named ? "set BATON_SOCKET to a shorter path" : "set XDG_RUNTIME_DIR to a shorter path");
    } else if (!is_usable(path, folder)) {
        (void)snprintf(detail, sizeof detail, "%s%s: %s is not there or not writable", path,
                       named ? " (BATON_SOCKET)" : "", folder);
        doctor_find(report, DOCTOR_LIMITED, "socket folder", detail,
                    "log in through a session manager, or set XDG_RUNTIME_DIR or BATON_SOCKET");
    } else if (!named && (!runtime || runtime[0] != '/')) {
        (void)snprintf(detail, sizeof detail, "XDG_RUNTIME_DIR is not set; %s is used", path);
        doctor_find(report, DOCTOR_LIMITED, "socket folder", detail,
                    "log in through a session manager, or set XDG_RUNTIME_DIR or BATON_SOCKET");
    } else {
        (void)snprintf(detail, sizeof detail, "%s%s: %s is writable", path, named ? " (BATON_SOCKET)" : "",
                       folder);
        doctor_find(report, DOCTOR_WORKS, "socket folder", detail, NULL);
    }
}

/* Cores of the daemon's partition that are not online, not isolated or not allowed. */
static void check_partition(struct doctor_report *report, struct monitor *monitor)
{
    const struct frame_about_difference *about;
    struct frame frame;
    char detail[320];

    for (uint32_t i = 0;
         monitor_query(monitor, QUERY_DIFFERENCE, i, 0, &frame) == 0 && frame.type == FRAME_ABOUT_DIFFERENCE;
         i++) {
        about = &frame.about_difference;
        if (strncmp(about->field, "partition.", strlen("partition.")) != 0)
            continue;
        (void)snprintf(detail, sizeof detail, "%s: %s: %s", about->field, about->planned, about->found);
        doctor_find(
            report, DOCTOR_LIMITED, "partition", detail,
            "correct partition: in baton.yaml, or bring up and isolate its cores; no bound can be claimed");
    }
}

/* The daemon that a program would connect to, found in the same way. */
static void check_daemon(struct doctor_report *report)
{
    const char *given = getenv("BATON_SOCKET");
    struct monitor monitor;
    char detail[SOCKET_PATH_SIZE + 128];
    int result = monitor_open(&monitor, NULL);

    if (result == 0) {
        (void)snprintf(detail, sizeof detail, "batond answers on %s", monitor.path);
        doctor_find(report, DOCTOR_WORKS, "daemon", detail, NULL);
        check_partition(report, &monitor);
        monitor_close(&monitor);
    } else if (result == -ECONNREFUSED && !(given && given[0])) {
        doctor_find(report, DOCTOR_WORKS, "daemon", "none listens; `baton run` starts one", NULL);
    } else if (result == -ECONNREFUSED) {
        (void)snprintf(detail, sizeof detail, "none listens on %s (BATON_SOCKET)", given);
        doctor_find(report, DOCTOR_LIMITED, "daemon", detail,
                    "start batond there, or unset BATON_SOCKET: programs run unscheduled");
    } else {
        (void)snprintf(detail, sizeof detail, "one listens, but %s",
                       result == -EPERM ? "it runs as another user, so Baton does not use it"
                                        : strerror(-result));
        doctor_find(report, DOCTOR_LIMITED, "daemon", detail,
                    "restart batond of this installation, or set BATON_SOCKET");
    }
}

static void check_tools(struct doctor_report *report)
{
    static const struct {
        const char *program, *use, *package;
    } tools[] = {
        {"mpirun", "studies on many machines", "openmpi-bin"},
        {"chromium", "looking at reports", "chromium"},
    };

    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        const char *path = getenv("PATH");
        bool found = false;

        while (path && *path && !found) {
            size_t length = strcspn(path, ":");
            char file[PATH_MAX];

            (void)snprintf(file, sizeof file, "%.*s/%s", (int)length, path, tools[i].program);
            found = access(file, X_OK) == 0;
            path += length + (path[length] == ':');
        }
        if (found) {
            doctor_find(report, DOCTOR_WORKS, tools[i].program, tools[i].use, NULL);
        } else {
            char advice[128];

            (void)snprintf(advice, sizeof advice, "optional: apt-get install %s", tools[i].package);
            doctor_find(report, DOCTOR_LIMITED, tools[i].program, tools[i].use, advice);
        }
    }
}

static void print_report(const json_t *findings)
{
    bool colour = isatty(STDOUT_FILENO);
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding)
    {
        const char *state = json_string_value(json_object_get(finding, "state"));
        const char *advice = json_string_value(json_object_get(finding, "advice"));
        const char *paint = state[0] == 'w' ? "\033[32m" : state[0] == 'l' ? "\033[33m" : "\033[31m";

        printf("%s%-8s%s %-24s %s\n", colour ? paint : "", state, colour ? "\033[0m" : "",
               json_string_value(json_object_get(finding, "what")),
               json_string_value(json_object_get(finding, "detail")));
        if (*advice)
            printf("%-8s   -> %s\n", "", advice);
    }
}

static int run(const struct cli_args *args)
{
    struct doctor_report report = {.findings = json_array()};

    if (!report.findings)
        return cli_fail_environment(args, ENOMEM, "cannot report");
    check_opencl(&report);
    check_rewriting(&report);
    doctor_cuda(&report);
    check_real_time(&report);
    doctor_realtime_limit(&report);
    doctor_other_realtime(&report);
    check_socket_folder(&report);
    check_daemon(&report);
    check_tools(&report);
    if (cli_has(args, "json")) {
        json_t *answer =
            json_pack("{s:b, s:O}", "usable", !report.essential_broken, "findings", report.findings);

        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(answer);
    } else {
        print_report(report.findings);
    }
    json_decref(report.findings);
    return report.essential_broken ? CLI_NO : CLI_YES;
}

static const struct cli_option options[] = {
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_doctor = {
    .name = "doctor",
    .summary = "say what works on this machine, and what to do about what does not",
    .arguments = "",
    .options = options,
    .example = "baton doctor",
    .run = run,
};
