#include "report/palette.h"

/* No red: on a page red means a missed deadline. */
static const char *const colours[] = {"#3b76d6", "#e08a1e", "#2a9d6f", "#8c6bd1", "#17a2b8",
                                      "#b8a01f", "#b0479a", "#7a8b3c", "#8a6d5b", "#64748b"};

size_t palette_size(void)
{
    return sizeof colours / sizeof colours[0];
}

const char *palette_colour(size_t index)
{
    return colours[index % palette_size()];
}
