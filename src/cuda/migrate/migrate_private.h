/* What the files of this folder share. */
#ifndef CUDA_MIGRATE_PRIVATE_H
#define CUDA_MIGRATE_PRIVATE_H

#include "cuda/front.h"
#include "cuda/migrate/migrate.h"

/* --- follow.c: which calls a program that follows may make --- */

/* Every name that cannot follow gets a hook; once, before there is memory. */
void follow_install(void);
/* From now on every call answers with this; CUDA_SUCCESS: calls do their work again. */
void follow_break(CUresult code);

/* --- places.c --- */

/* The devices that are like the program's own; fewer than two: nothing can follow. */
unsigned places_find(CUcontext home);
/* Makes what is missing of a place. */
CUresult place_ready(struct gpu_place *place);
/* Its stream for an engine; the place is ready. */
static inline struct stream_record *place_stream(unsigned place, enum engine_kind engine)
{
    return cuda_front.migrate.places[place].streams[engine];
}

#endif
