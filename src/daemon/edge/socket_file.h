/*
 * Sockets that batond makes at a path. Only this module replaces and removes files there. It
 * replaces only a dead socket: a socket of this user at which no process listens. It removes only
 * the socket that it made.
 */
#ifndef DAEMON_EDGE_SOCKET_FILE_H
#define DAEMON_EDGE_SOCKET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/socket_path.h"

struct socket_file {
    char path[SOCKET_PATH_SIZE]; /* "": there is no socket to remove */
    dev_t device;
    ino_t inode;
};

/*
 * 0: nothing is at the path, or a dead socket. -EEXIST: a file that is not a socket. -EPERM:
 * another user's socket. -EADDRINUSE: a process listens there. Else -errno.
 */
int socket_file_look(const char *path);

/* Each of these errors in words, to follow the path. */
const char *socket_file_words(int error);

/*
 * Listens at PATH~, until socket_file_show() gives the socket its name: a client that sees the name
 * can connect. all: every local user may connect (0666), otherwise only this user (0600). Returns
 * the descriptor, owned by the caller, or -errno as socket_file_look().
 */
int socket_file_listen(const char *path, bool all, int backlog, struct socket_file *ret_file);

/* 0, or -errno as socket_file_look(); then PATH~ is removed. */
int socket_file_show(struct socket_file *file);

/*
 * Removes the socket, unless another file is at the path now. Call it before the descriptor is
 * closed: until then no other file can have the socket's inode number.
 */
void socket_file_remove(struct socket_file *file);

#endif
