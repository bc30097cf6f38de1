/*
 * The listening socket: handed over by systemd, or made here with a lock beside it. Its permissions
 * hold from the start.
 */
#ifndef DAEMON_LISTENER_H
#define DAEMON_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/edge/socket_file.h"

struct listener {
    int fd;
    int lock;            /* -1: none (handed over, in a folder without write permission) */
    bool handed;         /* by systemd, which removes it */
    bool unclean;        /* the predecessor did not end in order */
    uint32_t generation; /* one more than the predecessor's */
    char path[SOCKET_PATH_SIZE];
    struct socket_file file; /* not of a socket that was handed over */
};

/*
 * path "": the user's own. shared: every local user may connect (0666), otherwise only this user
 * (0600). A missing folder is made, for this user alone. -EBUSY: another batond has the lock.
 * -EPERM: the folder belongs to another user. -ENOLCK: PATH.lock is no lock of a batond, and stays
 * as it is. Else -errno as socket_file_look().
 */
int listener_open(const char *path, bool shared, struct listener *ret_listener);

/* Removes and closes the socket, and notes that this daemon ended in order. */
void listener_close(struct listener *listener);

#endif
