/*
 * The colours that all pictures share. A number has the same colour everywhere, and is legible in
 * both themes.
 */
#ifndef REPORT_PALETTE_H
#define REPORT_PALETTE_H

#include <stddef.h>

/*
 * The index-th colour, "#rrggbb"; repeats after palette_size(). The colours differ for colour-blind
 * readers too; none is red.
 */
const char *palette_colour(size_t index);
size_t palette_size(void);

#endif
