/*
 * batond's configuration: /etc/baton/baton.yaml, then the user's own file, then the command line.
 * Each overrides the settings that it names. A daemon that a user started serves that user only,
 * since its socket admits no other user. So a user's file limits its owner only.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/input_error.h"
#include "base/nsec.h"
#include "daemon/cores.h"
#include "model/platform.h"
#include "sched/profile.h"
#include "wire/device_name.h"
#include "wire/frame.h"

#define CONFIG_MAX_USERS   64
#define CONFIG_MAX_DEVICES 32
#define CONFIG_MAX_CLIENTS 4096
#define CONFIG_MAX_CLAIMS  256
#define CONFIG_TASK_SIZE   65 /* a name as the wire carries it, and its end */

/* Limits for one user, or for all users that are not listed. */
struct config_user {
    uid_t uid;
    unsigned ceiling; /* highest priority, 1..99 */
    unsigned clients; /* most connections at once */
};

/* A task that belongs to a user; several users may share one. */
struct config_claim {
    uid_t uid;
    char task[CONFIG_TASK_SIZE];
};

struct config_device {
    char name[DEVICE_NAME_SIZE];
    unsigned copy_engines; /* 1 or 2 */
    baton_nsec drain;      /* how long GPU work may go on after its process has ended */
};

/*
 * What happens to a job that uses more engine time than its budget in the plan. Without a plan no
 * job has a budget.
 */
enum overrun_mode { OVERRUN_OFF, OVERRUN_DEMOTE, OVERRUN_THROTTLE, OVERRUN_END };

struct config {
    enum sched_profile_id profile;
    enum sched_policy_id policy;
    enum sched_lock_id lock;
    unsigned clients;      /* most connections at once, of all users */
    unsigned devices;      /* most devices */
    unsigned copy_engines; /* of devices that are not listed */
    unsigned buses;
    unsigned tokens_per_gpu; /* TOKENS_UNLIMITED */
    unsigned gpu_cluster;    /* GPUs per cluster, under tokens */
    /* cores per cluster, under tokens; 0: programs are not ordered on the CPUs */
    unsigned cpu_cluster;
    enum migration migration; /* how state follows a job to another GPU of its cluster */
    enum overrun_mode overrun;
    /* clients may name devices that neither the probe nor the file names */
    bool declare;
    bool probe; /* look for devices through OpenCL */
    /* settling: how long to wait for clients of the predecessor after its unclean end */
    baton_nsec settle;
    baton_nsec late_yield; /* a holder that has not yielded after this time is reported */
    baton_nsec idle_exit;  /* end after this time without clients; 0: never */
    bool realtime;         /* try SCHED_FIFO and locked memory */
    bool awake;            /* keep idle cores awake beside real-time programs */
    /* SCHED_FIFO priorities for boosted clients; the daemon runs above */
    unsigned band_low, band_high;
    struct config_user others; /* uid is unused */
    struct config_user users[CONFIG_MAX_USERS];
    size_t n_users;
    struct config_claim claims[CONFIG_MAX_CLAIMS];
    size_t n_claims;
    struct config_device listed[CONFIG_MAX_DEVICES];
    size_t n_listed;
    char plan[4096];               /* path; "": none */
    char overheads[4096];          /* path of the overhead set of this machine; "": none */
    char overheads_seal[32];       /* tells that set from others; filled by the host */
    char tasks[4096];              /* task set; "": none */
    enum admission_mode admission; /* of tasks of that set */
    /* the program `baton`; "": the one beside batond, else in PATH */
    char planner[4096];
    baton_nsec planner_limit; /* a planner that takes longer is stopped */
    /* Devices and programs have separate cores, so that bounds hold on PoCL. */
    bool partitioned;
    struct core_set device_cores, program_cores; /* valid if partitioned */
    char metrics[108];                           /* socket path or 127.0.0.1:PORT; "": none */
};

void config_init(struct config *config);

/* Reads a file over *config; on any answer but 0 *config is unchanged. */
int config_read_file(struct config *config, const char *path, struct input_error *ret_error);
int config_read(struct config *config, const char *name, const char *text, size_t size,
                struct input_error *ret_error);

/*
 * The limits for this user. own: the user that runs the daemon; unless listed, that user and root
 * have no ceiling.
 */
struct config_user config_user(const struct config *config, uid_t uid, uid_t own);

/*
 * May this user run the task? An unclaimed task is open to all users, a claimed one to its
 * claimants and root.
 */
bool config_may_run(const struct config *config, uid_t uid, const char *task);

/* The port of `metrics: 127.0.0.1:PORT`; 0: it is no such address. */
unsigned config_metrics_port(const char *where);

#endif
