/* What the files of libvirtual-clock.so share. */
#ifndef VIRTUAL_CLOCK_PRELOAD_H
#define VIRTUAL_CLOCK_PRELOAD_H

#include "clock.h"

/* The shared file; NULL: this program lives by the real clock. */
struct virtual_clock *preload_clock(void);

#endif
