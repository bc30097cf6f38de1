#include "base/patience.h"

#include <stdlib.h>

#define LARGEST 1000

baton_nsec patience_limit(baton_nsec limit)
{
    const char *text = secure_getenv("BATON_TEST_PATIENCE");
    char *end = NULL;
    long factor = text ? strtol(text, &end, 10) : 1;

    return text && !*end && factor > 1 && factor <= LARGEST ? limit * factor : limit;
}
