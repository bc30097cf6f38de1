/*
 * The 39 configurations of GPUSync's Table IV on its machine. It has two NUMA nodes of six CPUs and
 * four GPUs, two copy engines per GPU, chunks of 1 MiB. The CPU organisation is P (12 clusters), C
 * (2) or G (1). It is combined with 13 GPU organisations. P (8 clusters, no migration) has rho 1,
 * 2, 3, infinity. C (4 pairs) has system-memory or peer-to-peer migration and rho 1, 2, 3. G (1
 * cluster, system memory) has rho 1, 2, 3.
 */
#ifndef ANALYSIS_GPUSYNC_CONFIGURATIONS_H
#define ANALYSIS_GPUSYNC_CONFIGURATIONS_H

#include "model/platform.h"

#define GPUSYNC_CONFIGURATIONS 39

struct gpusync_configuration {
    char name[16];   /* as in Table IV: "(C,P,inf)", "(G,C^P2P,2)" */
    char cpu, gpu;   /* 'P', 'C' or 'G' */
    unsigned tokens; /* rho; TOKENS_UNLIMITED */
    enum migration migration;
};

/* In the order above; the array is static. */
const struct gpusync_configuration *gpusync_configurations(void);

/*
 * The platform of one configuration with this overhead set, whose copy tables are borrowed. Global
 * CPU scheduling needs interleaved copy costs.
 */
void gpusync_configuration_platform(const struct gpusync_configuration *configuration,
                                    const struct overheads *overheads, struct platform *ret_platform);

#endif
