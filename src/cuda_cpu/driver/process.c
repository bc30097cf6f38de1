#include "cuda_cpu/driver/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Start time of a process; false: there is no such process, or it is a zombie. */
static bool process_born(uint32_t process, uint64_t *ret_born)
{
    char path[48], text[512], state = 'Z', *at;
    unsigned long long born = 0;
    size_t n;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%u/stat", process);
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    at = strrchr(text, ')'); /* the name may contain any character, also ')' */
    if (!at || sscanf(at + 1, " %c", &state) != 1)
        return false;
    at += 2;
    for (int field = 3; field < 22 && at; field++) /* field 22 is the start time */
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &born) != 1)
        return false;
    *ret_born = born;
    return state != 'Z' && state != 'X';
}

bool process_lives(uint32_t process, uint64_t born)
{
    uint64_t found;

    if (process == 0 || (kill((pid_t)process, 0) < 0 && errno == ESRCH))
        return false;
    return process_born(process, &found) && found == born;
}

void process_self(uint32_t *ret_process, uint64_t *ret_born)
{
    *ret_process = (uint32_t)getpid();
    *ret_born = 0;
    (void)process_born(*ret_process, ret_born);
}
