#include "analysis/pipeline/mode_test.h"

int mode_ratio_compare(struct mode_ratio a, struct mode_ratio b)
{
    __extension__ typedef unsigned __int128 wide;
    wide left = (wide)a.response * (wide)b.deadline;
    wide right = (wide)b.response * (wide)a.deadline;

    return left < right ? -1 : left > right;
}

bool mode_run_stops(const struct mode_run *run, baton_nsec response, baton_nsec deadline)
{
    struct mode_ratio ratio = {response, deadline};

    return (run->until_miss && response > deadline) ||
           (run->limit && mode_ratio_compare(ratio, *run->limit) >= 0);
}
