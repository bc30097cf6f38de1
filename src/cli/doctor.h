/* The findings of `baton doctor`, and its parts that have files of their own. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>

/* Broken findings decide the exit status: what every use of Baton needs. */
enum doctor_finding { DOCTOR_WORKS, DOCTOR_LIMITED, DOCTOR_BROKEN };

struct doctor_report {
    json_t *findings;
    bool essential_broken;
};

/* Adds one line; advice may be NULL. */
void doctor_find(struct doctor_report *report, enum doctor_finding finding, const char *what,
                 const char *detail, const char *advice);

/* Whether `program` rewrites the text. */
bool doctor_rewrites(const char *program, const char *text);

/* What CUDA programs need: a driver or the CPU device, the front, baton-cut and its cache. */
void doctor_cuda(struct doctor_report *report);

/* Linux's limit on real-time programs (daemon/rt_limit.h). */
void doctor_realtime_limit(struct doctor_report *report);
/* Real-time programs that batond does not schedule. */
void doctor_other_realtime(struct doctor_report *report);

#endif
