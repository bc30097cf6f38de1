#include "children.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance.h"

void *share_file(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        exit(3);
    }
    close(fd);
    return at;
}

pid_t start_child(const char *role, const char *path)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "cuda-conformance", "--child", role, path, kernels_path(), NULL);
        _exit(127);
    }
    return child;
}

int end_of(pid_t child)
{
    int status = 0;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool becomes(const volatile int *word, int value)
{
    for (int i = 0; i < 600000 && *word != value; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return *word == value;
}
