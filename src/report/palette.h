/* The colours every picture shares: the same number is the same colour everywhere, and both themes can read it. */
#ifndef REPORT_PALETTE_H
#define REPORT_PALETTE_H

#include <stddef.h>

/* The index-th colour, "#rrggbb"; repeats after palette_size(). Chosen to differ for colour-blind readers too; none is red. */
const char *palette_colour(size_t index);
size_t palette_size(void);

#endif
