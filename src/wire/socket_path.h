/*
 * Where batond listens. BATON_SOCKET names the socket. Otherwise each user has one, below
 * XDG_RUNTIME_DIR or in /tmp/baton-UID, and the machine may have one for all users.
 */
#ifndef WIRE_SOCKET_PATH_H
#define WIRE_SOCKET_PATH_H

#include <stddef.h>
#include <sys/un.h>

#define SOCKET_PATH_SIZE   sizeof(((struct sockaddr_un *)0)->sun_path)
#define SOCKET_PATH_SYSTEM "/run/baton/baton.sock"

/* The user's own; -ENAMETOOLONG. */
int socket_path_own(char ret_path[SOCKET_PATH_SIZE]);

/*
 * The candidate number `index` (0, 1, ...) in the order in which a client tries them; -ENOENT past
 * the last.
 */
int socket_path_candidate(const char *given, unsigned index, char ret_path[SOCKET_PATH_SIZE]);

#endif
