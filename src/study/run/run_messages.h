/* What rank 0 and the others say to each other; for run.c and serve.c only. Both are the same program, so structs travel as they are. */
#ifndef STUDY_RUN_MESSAGES_H
#define STUDY_RUN_MESSAGES_H

#include "study/run/worker.h"

enum run_message_tag {
    MESSAGE_READY,  /* to rank 0: a unit, please */
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
