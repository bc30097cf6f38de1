/*
 * The order of the plan's programs on the CPUs, as Linux has it: rule `order`. Either batond orders
 * them (daemon/cpus.h), or their own real-time priorities do.
 */
#ifndef DAEMON_ORDER_H
#define DAEMON_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

struct server;

/*
 * RULE_MET, or RULE_ORDER with a client that breaks it. all: also what only the operating system
 * knows.
 */
enum model_rule order_rule(const struct server *server, bool all, uint32_t *ret_who);

/*
 * The lowest real-time priority of a program of the plan, donors that must not run apart. 0: some
 * program has none; INT_MAX: there is no program.
 */
int order_lowest(const struct server *server);

#endif
