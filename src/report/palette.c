#include "report/palette.h"

static const char *const colours[] = {"#3b76d6", "#e0772f", "#2a9d6f", "#b0479a", "#c9a227",
                                      "#17a2b8", "#8c6bd1", "#d6494f", "#7a8b3c", "#8a6d5b"};

size_t palette_size(void)
{
    return sizeof colours / sizeof colours[0];
}

const char *palette_colour(size_t index)
{
    return colours[index % palette_size()];
}
