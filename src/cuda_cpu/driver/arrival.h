/*
 * One engine of one device, used in order of arrival by every process of a user on this machine. A
 * GPU's own hardware queue works like this. It is the reason why two programs without Baton wait
 * for each other's kernels.
 *
 * The state of all engines is one file in shared memory. A process draws a ticket, waits until the
 * ticket is served, runs one operation and passes the engine on. Waiting processes find a process
 * that died with a ticket, and pass over it. A process that is only stopped keeps its turn. Nothing
 * is allocated after arrival_open(), and no lock is held while a process waits.
 *
 * The file is private to the user. $BATON_CUDA_CPU_ENGINES names another file, for example to share
 * the devices between users. A file of another size, version or owner is refused.
 */
#ifndef CUDA_CPU_DRIVER_ARRIVAL_H
#define CUDA_CPU_DRIVER_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ARRIVAL_DEVICES = 16, /* devices that the file has room for */
    ARRIVAL_ENGINES = 3,  /* of a device: execution, copies in, copies out */
};

struct arrival_file; /* the mapped file */

/* 0, or -errno: -EPROTO for a file of another version, -EPERM for one of another owner. */
int arrival_open(struct arrival_file **ret_file);
void arrival_close(struct arrival_file *file);

/*
 * Draws a ticket and waits until it is served; *ret_ticket is for arrival_leave(). Any thread may
 * call, with one ticket at a time. False: `stop` was set during the wait, and the ticket was given
 * up.
 */
bool arrival_enter(struct arrival_file *file, unsigned device, unsigned engine, const _Atomic bool *stop,
                   uint64_t *ret_ticket);
void arrival_leave(struct arrival_file *file, unsigned device, unsigned engine, uint64_t ticket);

/* Tickets drawn and not over: the one being served, and those that wait. */
uint64_t arrival_waiting(const struct arrival_file *file, unsigned device, unsigned engine);

#endif
