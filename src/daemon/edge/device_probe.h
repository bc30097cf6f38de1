/*
 * Finds the devices. OpenCL drivers may crash, hang or start threads, so a child process loads
 * them: this program again, as `batond --probe-devices`. It writes one `NAME<tab>DESCRIPTION` line
 * per device to its standard output.
 */
#ifndef DAEMON_DEVICE_PROBE_H
#define DAEMON_DEVICE_PROBE_H

#include <stddef.h>
#include <sys/types.h>

struct device_probe {
    pid_t pid; /* 0: none runs */
    int fd;    /* read end, not blocking */
    char text[16 * 1024];
    size_t n;
};

/* Starts the child; -errno. */
int probe_start(struct device_probe *probe);

/*
 * Reads the available output. 0: more may follow; 1: it has ended (call probe_next, then
 * probe_stop).
 */
int probe_read(struct device_probe *probe);

/* The next complete line, split in place; 0 past the last. *at begins with 0. */
int probe_next(struct device_probe *probe, size_t *at, const char **ret_name, const char **ret_description);

/* Kills and reaps the child if it still runs. */
void probe_stop(struct device_probe *probe);

/* The child's side; returns its exit status. */
int probe_main(void);

#endif
