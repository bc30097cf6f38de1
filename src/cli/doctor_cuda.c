#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/installed.h"
#include "cli/probe.h"
#include "cli/run_cuda.h"
#include "translate/cache.h"

#define RUNTIME "libcudart.so.13"

enum { DETAIL_SIZE = PATH_MAX + 256 };

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static long long number_of(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

/* The driver that programs without `--device cpu` use. */
static void check_driver(struct doctor_report *report, const char *cpu)
{
    const char *given = getenv(RUN_CUDA_VARIABLE);
    bool named = given && given[0];
    json_t *probe = probe_cuda(named ? given : RUN_CUDA_DRIVER);
    const char *path = text_of(probe, "path");
    long long version = number_of(probe, "version");
    char detail[DETAIL_SIZE];

    if (!*path && json_is_true(json_object_get(probe, "missing")) && !named) {
        doctor_find(report, DOCTOR_LIMITED, "CUDA driver", "there is no " RUN_CUDA_DRIVER,
                    "install the driver of your GPU, or start CUDA programs with `baton run --device cpu`");
    } else if (!*path) {
        doctor_find(report, DOCTOR_LIMITED, "CUDA driver", text_of(probe, "error"),
                    named ? "unset " RUN_CUDA_VARIABLE ", or correct it"
                          : "install the driver again, or use `baton run --device cpu`");
    } else if (!json_object_get(probe, "init") || number_of(probe, "init") != 0) {
        if (json_object_get(probe, "init"))
            (void)snprintf(detail, sizeof detail, "%s: cuInit fails with %lld", path,
                           number_of(probe, "init"));
        else
            (void)snprintf(detail, sizeof detail, "%s has no cuInit", path);
        doctor_find(report, DOCTOR_LIMITED, "CUDA driver", detail,
                    "100 is: no GPU; see the driver's own tools, or use `baton run --device cpu`");
    } else {
        (void)snprintf(detail, sizeof detail, "%s%s (CUDA %lld.%lld, %lld device(s))", path,
                       strcmp(path, cpu) == 0 ? ", Baton's CPU device" : "", version / 1000,
                       version % 1000 / 10, number_of(probe, "devices"));
        doctor_find(report, DOCTOR_WORKS, "CUDA driver", detail, NULL);
    }
    json_decref(probe);
}

static void check_front(struct doctor_report *report)
{
    char path[PATH_MAX];
    char detail[DETAIL_SIZE];
    json_t *probe;

    if (installed_find(RUN_CUDA_FRONT, path, sizeof path) != 0) {
        doctor_find(report, DOCTOR_LIMITED, "CUDA front",
                    RUN_CUDA_FRONT " is neither beside this program nor among its libraries",
                    "build or install Baton completely, on x86-64; CUDA programs run unscheduled");
        return;
    }
    if (!run_cuda_can_preload(path)) {
        (void)snprintf(detail, sizeof detail, "LD_PRELOAD cannot name %s: a colon is in it", path);
        doctor_find(report, DOCTOR_LIMITED, "CUDA front", detail,
                    "move Baton to a folder without one: CUDA programs cannot be scheduled from there");
        return;
    }
    probe = probe_library(path);
    if (*text_of(probe, "path"))
        (void)snprintf(detail, sizeof detail, "%s loads, and LD_PRELOAD can name it", path);
    else
        (void)snprintf(detail, sizeof detail, "%s", text_of(probe, "error"));
    doctor_find(report, *text_of(probe, "path") ? DOCTOR_WORKS : DOCTOR_LIMITED, "CUDA front", detail,
                *text_of(probe, "path") ? NULL : "install what it needs, or Baton again");
    json_decref(probe);
}

/* The device behind `baton run --device cpu`; cpu: its driver, "" if there is none. */
static void check_cpu_device(struct doctor_report *report, const char *cpu)
{
    char path[PATH_MAX];
    char runtime[PATH_MAX + 32];
    char detail[DETAIL_SIZE];
    json_t *probes[2];
    bool works;

    if (!*cpu) {
        doctor_find(report, DOCTOR_LIMITED, "CUDA on CPU cores", "its libraries are not installed",
                    "build or install Baton completely; `--device cpu` does not work");
        return;
    }
    (void)snprintf(path, sizeof path, "%s", cpu);
    (void)snprintf(runtime, sizeof runtime, "%s/" RUNTIME, dirname(path));
    probes[0] = probe_cuda(cpu);
    probes[1] = probe_library(runtime);
    works = number_of(probes[0], "devices") > 0 && *text_of(probes[1], "path");
    if (works)
        (void)snprintf(detail, sizeof detail, "%s (%lld device(s)) and " RUNTIME, cpu,
                       number_of(probes[0], "devices"));
    else
        (void)snprintf(detail, sizeof detail, "%s: %s%s", cpu,
                       *text_of(probes[0], "error") ? text_of(probes[0], "error")
                                                    : text_of(probes[1], "error"),
                       number_of(probes[0], "init") ? "cuInit fails" : "");
    doctor_find(report, works ? DOCTOR_WORKS : DOCTOR_LIMITED, "CUDA on CPU cores", detail,
                works ? NULL : "install what it needs, or Baton again");
    json_decref(probes[0]);
    json_decref(probes[1]);
}

static void check_cutting(struct doctor_report *report)
{
    static const char module[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    const char *program = getenv("BATON_CUT");
    char path[PATH_MAX];

    if (!program && installed_find("baton-cut", path, sizeof path) == 0)
        program = path;
    if (program && doctor_rewrites(program, module))
        doctor_find(report, DOCTOR_WORKS, "CUDA kernels", "baton-cut cuts them into pieces", NULL);
    else
        doctor_find(report, DOCTOR_LIMITED, "CUDA kernels",
                    "baton-cut does not run here: CUDA kernels stay whole", "install Baton completely");
}

static void check_cache(struct doctor_report *report)
{
    char *folder = cache_folder();
    char detail[DETAIL_SIZE];

    if (folder && access(folder, W_OK | X_OK) == 0) {
        (void)snprintf(detail, sizeof detail, "%s is writable", folder);
        doctor_find(report, DOCTOR_WORKS, "rewritten kernels", detail, NULL);
    } else {
        (void)snprintf(detail, sizeof detail, "%s: kernels are rewritten at every start",
                       folder ? folder : "no folder of this user's own to keep them in");
        doctor_find(report, DOCTOR_LIMITED, "rewritten kernels", detail,
                    "set BATON_CACHE_DIR, XDG_CACHE_HOME or HOME to a folder that only you may write to");
    }
    free(folder);
}

void doctor_cuda(struct doctor_report *report)
{
    char cpu[PATH_MAX];
    char real[PATH_MAX];

    if (run_cuda_cpu_driver(cpu) != 0)
        cpu[0] = '\0';
    check_driver(report, *cpu && realpath(cpu, real) ? real : "");
    check_front(report);
    check_cpu_device(report, cpu);
    check_cutting(report);
    check_cache(report);
}
