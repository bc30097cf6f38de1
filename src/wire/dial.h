/*
 * Connects to batond. Only this module decides where to look (wire/socket_path.h) and which
 * listener to trust.
 */
#ifndef WIRE_DIAL_H
#define WIRE_DIAL_H

#include "wire/socket_path.h"

/*
 * Connects to the first candidate where a trusted daemon listens. A socket that the caller named
 * (given) is trusted. A socket that was only found is trusted if its listener runs as root or as
 * this user. In a folder that all may write to, any user can put a socket at this user's path.
 *
 * given: a socket's path, or NULL or "" for the user's own, then the system's. flags: SOCK_NONBLOCK
 * or 0; the descriptor is always close-on-exec. Returns the descriptor, owned by the caller, and
 * writes *ret_path; else -errno. -ECONNREFUSED: no daemon listens anywhere. -EPERM: only an
 * untrusted process listens. -ENAMETOOLONG.
 */
int dial(const char *given, int flags, char ret_path[SOCKET_PATH_SIZE]);

#endif
