/*
 * A fuzz target defines LLVMFuzzerTestOneInput. With libFuzzer that is all. As a regression test it
 * is linked with tests/fuzz_main.c. That runs every file of the corpus named on its command line,
 * each also cut short and with bytes changed.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
