/* include/baton/job.h: speaks to the session of this process. */
#include "baton/job.h"

#include <errno.h>

#include "client/join.h"

int baton_job_begin(void)
{
    const struct join_hooks *found = join_find();

    return found ? found->job_begin() : -ENOMEM;
}

int baton_job_begin_at(int64_t release_ns)
{
    const struct join_hooks *found = join_find();

    return found ? found->job_begin_at(release_ns) : -ENOMEM;
}

int baton_job_gpu_done(void)
{
    const struct join_hooks *found = join_find();

    return found ? found->job_gpu_done() : -ENOMEM;
}

int baton_job_end(void)
{
    const struct join_hooks *found = join_find();

    return found ? found->job_end() : -ENOMEM;
}

int baton_job_report(struct baton_job_report *ret_report)
{
    const struct join_hooks *found = join_find();

    return found ? found->job_report(ret_report) : -ENOMEM;
}
