/*
 * Why an input was rejected: the position, what was expected there, and what was found. Readers
 * return 0, -errno, or INPUT_REJECTED with this structure filled.
 */
#ifndef BASE_INPUT_ERROR_H
#define BASE_INPUT_ERROR_H

#include <stddef.h>

#define INPUT_REJECTED 1

struct input_error {
    char file[256];
    unsigned line;   /* from 1; 0: the file as a whole */
    unsigned column; /* from 1 */
    char expected[200];
    char found[200];
};

/* Fills *ret_error. found may hold any bytes; it is shortened and made printable. */
void input_error_set(struct input_error *ret_error, const char *file, unsigned line, unsigned column,
                     const char *found, const char *expected_format, ...)
    __attribute__((format(printf, 6, 7)));

/*
 * The same as an expression with the value INPUT_REJECTED. It is a macro, so that static analysis
 * sees that it is never 0.
 */
#define input_reject(...) (input_error_set(__VA_ARGS__), INPUT_REJECTED)

/* Writes `file:line:column: expected X, found Y` without a newline; returns what snprintf would. */
int input_error_format(const struct input_error *error, char *ret_text, size_t size);

#endif
