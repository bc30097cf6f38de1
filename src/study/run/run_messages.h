/*
 * Messages between rank 0 and the other processes; for run_study.c and serve.c only. All processes
 * run the same program, so structs are sent unchanged.
 */
#ifndef STUDY_RUN_MESSAGES_H
#define STUDY_RUN_MESSAGES_H

#include "study/run/study_worker.h"

enum run_message_tag {
    MESSAGE_READY,  /* to rank 0: requests a unit */
    MESSAGE_UNIT,   /* to the others: struct study_unit */
    MESSAGE_END,    /* to the others: no more */
    MESSAGE_POINT,  /* to rank 0: struct study_point */
    MESSAGE_FAILED, /* to rank 0: -errno */
};

union run_message {
    struct study_unit unit;
    struct study_point point;
    int failure;
};

#endif
