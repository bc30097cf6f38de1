/* Calls about memory that the front answers for a program that follows its jobs. */
#ifndef CUDA_MIGRATE_MIGRATE_ANSWERS_H
#define CUDA_MIGRATE_MIGRATE_ANSWERS_H

#include "cuda/entries.h"

#define FOLLOWS(base)
#define OWN(symbol, handler, arguments) CUresult own_##handler(struct call *call);
#include "cuda/migrate/follows.def"
#undef FOLLOWS
#undef OWN

/* What the call did without a hook. */
CUresult follow_original(struct call *call);

#endif
