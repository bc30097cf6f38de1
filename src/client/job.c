/* Implements include/baton/job.h on the session of this process. */
#include "baton/job.h"

#include <errno.h>
#include <string.h>

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

/* The fields of the first version. A smaller size means that the caller did not set it. */
#define REPORT_SIZE (offsetof(struct baton_job_report, tardiness_max) + sizeof(int64_t))

int baton_job_report(struct baton_job_report *ret_report)
{
    const struct join_hooks *found = join_find();
    size_t size = ret_report->size;
    struct baton_job_report report = {0};
    int result;

    if (size < REPORT_SIZE)
        return -EINVAL;
    result = found ? found->job_report(&report) : -ENOMEM;
    if (result)
        return result;
    report.size = size;
    memcpy(ret_report, &report, size < sizeof report ? size : sizeof report);
    return 0;
}
