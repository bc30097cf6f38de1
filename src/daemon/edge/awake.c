#include "daemon/edge/awake.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#define LATENCY "/dev/cpu_dma_latency"

static int demand(void)
{
    const int32_t us = 0;
    int fd = open(LATENCY, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, &us, sizeof us) != (ssize_t)sizeof us) {
        close(fd);
        return -1;
    }
    return fd;
}

void awake_init(struct awake *awake, bool wanted)
{
    *awake = (struct awake){wanted && access(LATENCY, W_OK) == 0, -1};
}

void awake_keep(struct awake *awake, bool keep)
{
    if (keep && awake->permitted && awake->fd < 0) {
        awake->fd = demand();
        /* the answer does not change, so do not ask again with every event */
        awake->permitted = awake->fd >= 0;
    } else if (!keep && awake->fd >= 0) {
        close(awake->fd);
        awake->fd = -1;
    }
}
