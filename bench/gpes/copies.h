/* What copies.c needs of a GPU API. A failing call ends the program with one line. */
#ifndef BENCH_GPES_COPIES_H
#define BENCH_GPES_COPIES_H

#include <stddef.h>

/* Opens the first device, with a buffer of so many bytes. */
void copies_open(size_t bytes);
/* Both return when the copy is done. */
void copies_in(const void *from, size_t bytes);
void copies_out(void *to, size_t bytes);
void copies_close(void);

#endif
