/*
 * The instants that rank jobs of a policy with deadlines: the earlier, the more urgent.
 *
 * Fair lateness ranks by the priority point of the analysis, which counts from the release, like
 * the deadline. On a cluster of one CPU the point is the plan's deadline, and EDF ranks by it, too:
 * an announced deadline could be another one.
 */
#ifndef DAEMON_POINTS_H
#define DAEMON_POINTS_H

#include "base/nsec.h"

struct peer;
struct server;

/* For a job with this deadline; NSEC_MAX: it has none. */
baton_nsec points_of(const struct server *server, const struct peer *peer, baton_nsec deadline_at);
/*
 * For the client's next job, if that job comes as early as the plan permits, a period after the
 * last; NSEC_MAX: it has no deadline. A release is known when the job begins. Until then a job that
 * comes as early has its rank, and one that comes later has a more urgent one.
 */
baton_nsec points_next(const struct server *server, const struct peer *peer);

#endif
