/* Prints the model as YAML. */
#ifndef MODEL_PRINT_H
#define MODEL_PRINT_H

#include <stdio.h>

#include "base/nsec.h"

/*
 *  A duration in units of unit nanoseconds (a power of ten), exact, without trailing zeros: 1500000
 *  in ms is 1.5.
 */
void print_duration(baton_nsec duration, baton_nsec unit, FILE *out);

/* A string as a double-quoted YAML (and JSON) scalar. */
void print_quoted(const char *text, FILE *out);

#endif
