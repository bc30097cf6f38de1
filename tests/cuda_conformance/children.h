/* Children of a case: this program again, and a file that parent and child map. */
#ifndef CUDA_CONFORMANCE_CHILDREN_H
#define CUDA_CONFORMANCE_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Maps the file, made so long with zeros. A failure ends the program. */
void *share_file(const char *path, size_t size);
pid_t start_child(const char *role, const char *path);
/* Waits; its exit status, -signal. */
int end_of(pid_t child);
/* Waits for a word of another process; after ten minutes that process hangs. */
bool becomes(const volatile int *word, int value);

#endif
