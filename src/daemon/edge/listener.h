/*
 * The listening socket: handed over by systemd, or made here with a lock beside it. Its permissions
 * hold from the start.
 */
#ifndef DAEMON_LISTENER_H
#define DAEMON_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/socket_path.h"

struct listener {
    int fd;
    int lock;            /* -1: none (handed over, in a folder without write permission) */
    bool handed;         /* by systemd, which removes it */
    bool unclean;        /* the predecessor did not end in order */
    uint32_t generation; /* one more than the predecessor's */
    char path[SOCKET_PATH_SIZE];
};

/*
 * path "": the user's own. shared: every local user may connect (0666), otherwise only this user
 * (0600). A missing folder is made, for this user alone. -EBUSY: another batond listens there.
 * -EPERM: the folder belongs to another user.
 */
int listener_open(const char *path, bool shared, struct listener *ret_listener);

/* Closes the socket; clean: also notes that this daemon ended in order. */
void listener_close(struct listener *listener, bool clean);

#endif
