/*
 * Frames on the socket: bytes to struct and back. Both directions are pure and explicit.
 * frame_decode() is the only entry for bytes from another process and is fuzzed. The messages are
 * listed in wire/frames.def.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "wire/engine_kind.h"

#define FRAME_VERSION     4u
#define FRAME_HEADER_SIZE 8u
#define FRAME_MAX_SIZE    2048u /* header and payload of the largest frame are smaller */

#define FRAME_NO_LEASE UINT32_MAX

#define HELLO_ADAPTIVE 1u   /* the policy may rank this client by behaviour */
#define HELLO_MONITOR  2u   /* only sends queries: no page, no leases */
#define HELLO_TASK     4u   /* the name is that of a task */
#define HELLO_REALTIME 8u   /* has a period or deadline, or a real-time priority with Linux */
#define HELLO_OWN      16u  /* its own pieces, chunks, GPUs or placement override the plan's */
#define HELLO_NICE     32u  /* the priority comes only from the nice value: no user chose it */
#define HELLO_TOLD     64u  /* PRIORITY and RESET from the daemon are understood */
#define HELLO_BEGAN    128u /* it has begun jobs before this connection */
#define HELLO_USED     256u /* counts the engine time of its jobs in its page (used_ns) */
#define HELLO_MANAGED  512u /* MANAGED from the daemon is understood */

#define WELCOME_JOBS    1u  /* report where jobs begin and end */
#define WELCOME_BUS     2u  /* a copy holds its device's bus, whatever its direction (docs/protocols.md Q4) */
#define WELCOME_NOTICES 4u  /* NOTICE is understood */
#define WELCOME_FOLLOWS 16u /* tokens of several GPUs, and state goes along (migration is not `none`) */
/*
 * PLACE is answered when the job's token is granted: wait for it. ATTACH is answered by MANAGED or
 * REFUSED, and a program may not open a GPU that is not managed.
 */
#define WELCOME_TOKENS 8u

#define JOB_ENDS     0u
#define JOB_INFERRED 1u /* a job begins, by the program's first command */
#define JOB_SAID     2u /* a job begins, as the program reports */
#define JOB_GPU_OVER 3u /* the running job is done with the GPU: its token may go to another job */

#define PLAN_SLICING  1u
#define PLAN_ADAPTIVE 2u
#define PLAN_TASK     8u    /* the plan names this program */
#define PLAN_EFFORT   16u   /* best effort: its task was not admitted */
#define PLAN_BORDER   32u   /* takes effect between two jobs */
#define PLAN_CPUS     128u  /* the daemon pins and orders the threads: the client leaves them alone */
#define PLAN_SAVES    256u  /* migration `system`: state goes to the host at the end of every job */
#define PLAN_EXACT    512u  /* every piece is a request that is counted: yield where the plan cuts */
#define PLAN_PEERS    1024u /* migration `p2p`: state goes directly from GPU to GPU */
#define PLAN_JOBS     2048u /* the task has a budget: report where jobs begin and end */
#define PLAN_LINGER   64u   /* a hold may linger while only less urgent clients wait (client/linger.h) */

#define LATE_MISSED   1u /* its deadline */
#define LATE_EXCEEDED 2u /* its bound */

#define ABOUT_REALTIME 1u  /* the daemon runs under SCHED_FIFO */
#define ABOUT_LOCKED   2u  /* its memory is locked */
#define ABOUT_BOOSTS   4u  /* it may boost clients */
#define ABOUT_SETTLING 8u  /* just restarted: waits for clients of the previous daemon */
#define ABOUT_AWAKE    16u /* idle cores are kept awake: a real-time program is connected */

enum query_what {
    QUERY_DAEMON,     /* ABOUT_DAEMON */
    QUERY_DEVICE,     /* index: ABOUT_DEVICE */
    QUERY_ENGINE,     /* index: the first engine of a known device from this one on, ABOUT_ENGINE */
    QUERY_CLIENT,     /* index: the first client from this slot on, ABOUT_CLIENT */
    QUERY_TRACE,      /* cursor: the daemon's decisions, TRACE */
    QUERY_RUNS,       /* index: a slot, cursor: what that client ran, TRACE */
    QUERY_OLD_RUNS,   /* cursor: what clients that have left ran, TRACE */
    QUERY_DEPARTED,   /* index: clients that have left, ABOUT_CLIENT */
    QUERY_TASK,       /* index: ABOUT_TASK */
    QUERY_ADMISSION,  /* ABOUT_ADMISSION */
    QUERY_DIFFERENCE, /* index: ABOUT_DIFFERENCE */
    QUERY_NOTICE,     /* index: a slot, cursor: which of that client's notices, ABOUT_NOTICE */
    QUERY_KERNEL,     /* index: a slot, cursor: the number of a kernel of QUERY_RUNS, ABOUT_KERNEL */
    QUERY_OLD_KERNEL, /* cursor: the number of a kernel of QUERY_OLD_RUNS, ABOUT_KERNEL */
};

/* Of CONTROL. */
enum control_what {
    CONTROL_STOP,       /* end, as by SIGTERM */
    CONTROL_LOAD_PLAN,  /* path: replaces the present plan by this one */
    CONTROL_LOAD_TASKS, /* path: admits by this task set instead of the present one */
    CONTROL_RESET,      /* clears the worst values of tasks and programs */
    CONTROL_PRIORITY,   /* pid, priority: changes a running program */
};

/* What happens to a task that cannot be admitted to the running set. */
enum admission_mode { ADMISSION_OFF, ADMISSION_REFUSE, ADMISSION_BEST_EFFORT };

enum admission_verdict {
    VERDICT_NONE,        /* no program has asked */
    VERDICT_ASKED,       /* being planned */
    VERDICT_ADMITTED,    /* by the analysis, or admission is off and the plan has it */
    VERDICT_BEST_EFFORT, /* behind every program that has a priority */
    VERDICT_REFUSED,
    VERDICT_UNKNOWN, /* neither the plan nor the task set has it */
};

enum reason {
    REASON_NONE,
    REASON_DEADLINE,    /* cause: the task that would miss its deadline; its response and limit */
    REASON_RUNNING = 3, /* runs already; 2 is not used */
    REASON_PLANNER,     /* the planner failed */
    REASON_TIME,        /* the planner was too slow */
    REASON_USER,        /* it belongs to another user */
    REASON_TARDY,       /* admitted, but only with bounded tardiness: cause, response, limit */
};

/*
 * Why a bound is not claimed: the part of the model that does not hold on this machine now. "who:"
 * says which client or device the field `who` names.
 */
enum model_rule {
    RULE_MET,
    RULE_NO_BOUND,  /* the plan claims none */
    RULE_BASIS,     /* the basis of the bounds differs from this machine: see QUERY_DIFFERENCE */
    RULE_REALTIME,  /* no permission for real-time scheduling */
    RULE_PARTITION, /* who: a device that is this machine's CPU, without a declared partition of cores */
    RULE_OUTSIDER,  /* who: a client outside of the plan, whose load and pieces the plan does not count */
    RULE_CEILING,   /* who: a client of the plan whose priority is below its planned one */
    RULE_TWICE,     /* who: a second process of a task */
    RULE_WHOLE,     /* who: a client whose kernels the plan cuts ran some whole */
    RULE_CHANGING,  /* who: a client that has not reached a job border since the plan changed */
    RULE_STALE,     /* the running set could not be planned */
    RULE_PERIOD,    /* who: a client whose period is shorter than the plan's, or that has none */
    RULE_AFFINITY,  /* who: a client that may not run on every core of the programs, or may run on others */
    RULE_ORDER,     /* who: a client to which less urgent tasks do not yield on the CPUs */
    RULE_OWN,       /* who: a client whose own pieces, chunks, GPUs or placement override the plan's */
    RULE_PLACEMENT, /* who: a client whose kernels do not run where the plan says, or cannot */
    RULE_JOBS,      /* who: a client that does not report where its jobs begin */
    RULE_OVERRUN,   /* who: a client that used more engine time than the plan gives a job */
    RULE_REQUESTS,  /* who: a client that made more or longer engine requests than the plan counts */
    RULE_DRAINING,  /* who: a client whose work from an ended connection holds an engine until it has ended */
    RULE_IDLE,      /* all rules hold again, but earlier jobs may still be late: no idle instant since then */
    RULE_LATE,      /* who: a client that was asked to yield an engine, and has not for late_yield_ms */
    RULE_BATCH,     /* who: a client that holds engines for a batch, or waits for them */
    RULES,
};

enum client_state { CLIENT_CONNECTED, CLIENT_DRAINING, CLIENT_DEPARTED };

/* Events in traces. */
enum record_kind {
    RECORD_JOIN,       /* client */
    RECORD_LEAVE,      /* client */
    RECORD_REQUEST,    /* client, engine */
    RECORD_GRANT,      /* client, engine */
    RECORD_YIELD,      /* client, engine: was asked to yield */
    RECORD_RELEASE,    /* client, engine */
    RECORD_TAKEN,      /* client, engine: an idle lease was reclaimed */
    RECORD_LATE_YIELD, /* client, engine: did not yield in time */
    RECORD_RUN,        /* client, engine, at .. at + length: work on the engine */
    RECORD_JOB,        /* client, at .. at + length: a job from its release to its completion */
    RECORD_MISS,       /* client, at .. at + length: from a job's deadline to its completion */
    RECORD_EXCEED,     /* client, engine: RULE_*, at .. at + length: a job beyond its bound, claimed or not */
    RECORD_PLANNED,    /* job: task (UINT32_MAX: none), engine: VERDICT_*; at .. at + length: planning */
    RECORD_TOKEN_WAIT, /* client, engine: execution of the GPU it got; at .. at + length: until then */
    RECORD_TOKEN,      /* client, engine: the same, at .. at + length: a token of that GPU was held */
    RECORD_KINDS,
};

struct trace_record {
    uint64_t at; /* CLOCK_MONOTONIC, nanoseconds */
    uint64_t length;
    uint32_t kind;
    uint32_t client;
    uint32_t engine;
    uint32_t job;
    uint64_t size;   /* RECORD_RUN: as in struct page_run, like the next two */
    uint32_t kernel; /* its name is the answer to QUERY_KERNEL or QUERY_OLD_KERNEL */
    uint32_t pieces;
};

/* ---- the structs, one per message ---- */
#define FRAME(identifier, number, name) struct frame_##name {
#define FIELD(type, name)               FRAME_FIELD_##type name;
#define TEXT(name, size)                char name[(size) + 1]; /* 0-terminated */
#define COUNTS(name, n)                 uint64_t name[n];
#define RECORDS(name, n)                struct trace_record name[n];
#define END(identifier, name)                                                                                \
    char unused_end;                                                                                         \
    }                                                                                                        \
    ;
#define FRAME_FIELD_u32 uint32_t
#define FRAME_FIELD_u64 uint64_t
#include "wire/frames.def"
#undef FRAME
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END

#define FIELD(type, name)
#define TEXT(name, size)
#define COUNTS(name, n)
#define RECORDS(name, n)
#define END(identifier, name)
enum frame_type {
#define FRAME(identifier, number, name) FRAME_##identifier = (number),
#include "wire/frames.def"
#undef FRAME
};

struct frame {
    enum frame_type type;
    union {
#define FRAME(identifier, number, name) struct frame_##name name;
#include "wire/frames.def"
#undef FRAME
    };
};
#undef FIELD
#undef TEXT
#undef COUNTS
#undef RECORDS
#undef END

/* Answers of frame_decode(). */
#define FRAME_PARTIAL 1 /* the bytes so far begin a frame: read more */
#define FRAME_BAD     2 /* no frame begins like this: unknown type, wrong size, unterminated text */

/*
 * Decodes the frame at the start of bytes[0..n). 0 with *ret_frame and its size in *ret_used;
 * FRAME_PARTIAL; FRAME_BAD. Reads no byte past n, and answers FRAME_BAD from the header alone if it
 * can.
 */
int frame_decode(const uint8_t *bytes, size_t n, struct frame *ret_frame, size_t *ret_used);

/*
 * Encodes a frame of at most FRAME_MAX_SIZE bytes and answers its size. Texts must be terminated.
 */
size_t frame_encode(const struct frame *frame, uint8_t ret_bytes[FRAME_MAX_SIZE]);

/* "HELLO", or NULL for an unknown type. */
const char *frame_name(unsigned type);

#endif
