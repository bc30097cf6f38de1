/*
 * The verdict on every entry of a module. It combines the entry's own statements and loops with
 * those of all functions that it calls, directly or through others.
 */
#ifndef PTX_CUT_PTX_STUDY_H
#define PTX_CUT_PTX_STUDY_H

#include "ptx/cut/value_flow.h"
#include "ptx/cut/refuse.h"

struct study_routine {
    bool is_open, is_done; /* calls are being followed; were followed */
    bool has_flow;
    struct flow flow;
    struct verdict verdict;  /* all but loops, with what it calls */
    bool has_waits[4];       /* [kernel_writes + 2 * kernel_polls]: is waits[] known? */
    struct verdict waits[4]; /* of its own loops */
};

struct study {
    const struct ptx_module *module;
    struct study_routine *routines; /* [ptx_routine::user] */
    struct effect_summary *summaries;
    bool *reached; /* [routine]: scratch of one entry */
    size_t budget;
    struct arena arena;
};

/* Numbers the routines. 0 or -ENOMEM; study_done() also accepts a study whose begin failed. */
int study_begin(struct study *study, const struct ptx_module *module);
void study_done(struct study *study);

/* 0 or -ENOMEM. */
int study_entry(struct study *study, struct ptx_routine *entry, struct verdict *ret_verdict);

#endif
