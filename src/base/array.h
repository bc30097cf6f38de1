/*
 * Arrays that grow by one element at a time. The owner keeps the number of elements and the room
 * beside the array, and frees it with free().
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Makes room for one more element; the room doubles. Answers the array, perhaps at a new place.
 * NULL when memory is short; the old array then stays as it was.
 */
static inline void *array_make_room(void *array, size_t n, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : 64;
    void *larger;

    if (n < *room)
        return array;
    larger = reallocarray(array, more, size);
    if (larger)
        *room = more;
    return larger;
}

#endif
