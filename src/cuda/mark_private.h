/* What mark.c (events, times, fences) and mark_open.c (open marks) share. */
#ifndef CUDA_MARK_PRIVATE_H
#define CUDA_MARK_PRIVATE_H

#include "base/refs.h"
#include "cuda/mark.h"

struct mark {
    struct refs refs;
    atomic_int status; /* COMMAND_RUNNING until it is seen to be over */
    struct context_record *context;
    struct mark *next_free;
    CUevent event; /* NULL: a fence, or none was needed so far */
    baton_nsec issued_at;
    /* a reference: the stream's mark before this one, until times are read; marks_lock */
    struct mark *before;
    _Atomic uint64_t ended; /* 0: not read yet */

    /* Of an open mark; marks_lock. */
    struct list link; /* context_record::open_marks */
    /* while it is open: whose open mark it is; NULL otherwise, and readable without the lock */
    struct stream_record *_Atomic stream;
    bool shared;          /* it was open: its times are not those of one command */
    unsigned n_commands;  /* that it stands for */
    int64_t expected;     /* their predicted nanoseconds */
    uint64_t last_joined; /* context_record::n_joined when the last one joined */

    bool fence;
    pthread_mutex_t lock; /* of a fence: guards the following */
    pthread_cond_t changed;
    struct mark_listener *listener;
};

/*
 * Under marks_lock: a mark from the pool, or a new one without an event, one reference; NULL: no
 * memory.
 */
struct mark *mark_take_locked(struct context_record *context, baton_nsec issued_at);
/* Under marks_lock; NULL is allowed. */
void mark_drop_locked(struct mark *mark);
/* Under marks_lock: the stream's newest mark with an event is this one. */
void mark_follow_locked(struct stream_record *stream, struct mark *mark);

/* The following visit the context first. */

/* Gives it an event, if the driver can. */
void mark_need_event(struct mark *mark);
/* Records its event. False: the driver refused; the stream was waited for, and the mark is over. */
bool mark_record_event(struct mark *mark, const struct stream_record *stream);
/* Its status while it is open: complete if the stream has nothing left to do. */
int mark_open_status(struct mark *mark);
/* Gives it its event, if it is still open. */
void mark_close_open(struct mark *mark);

/* Under marks_lock: an open mark, and all that it stands for, is over. */
void mark_end_open_locked(struct mark *mark, int status);

#endif
