/* Connecting to batond: the one place that decides where to look (wire/socket_path.h) and whom to believe. */
#ifndef WIRE_DIAL_H
#define WIRE_DIAL_H

#include "wire/socket_path.h"

/*
 * Connects to the first candidate where a daemon listens that may be believed. A socket that the caller named (given) is believed. One
 * that was only found is believed if its listener runs as root or as us: in a folder that all may write to, any user can
 * put a socket where ours would be.
 *
 * given: a socket's path, or NULL or "" for the user's own, then the system's. flags: SOCK_NONBLOCK or 0; the descriptor is always
 * close-on-exec. Returns the descriptor (the caller's) and writes *ret_path; else -errno: -ECONNREFUSED, no daemon listens
 * anywhere; -EPERM, a process does, but not one to believe; -ENAMETOOLONG.
 */
int dial(const char *given, int flags, char ret_path[SOCKET_PATH_SIZE]);

#endif
