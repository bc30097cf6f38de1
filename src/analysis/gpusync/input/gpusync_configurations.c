#include "analysis/gpusync/input/gpusync_configurations.h"

#define MIB ((int64_t)1 << 20)

#define GPU_ORGANISATIONS(cpu, letter)                                                                       \
    {"(" letter ",P,1)", cpu, 'P', 1, MIGRATION_NONE}, {"(" letter ",P,2)", cpu, 'P', 2, MIGRATION_NONE},    \
        {"(" letter ",P,3)", cpu, 'P', 3, MIGRATION_NONE},                                                   \
        {"(" letter ",P,inf)", cpu, 'P', TOKENS_UNLIMITED, MIGRATION_NONE},                                  \
        {"(" letter ",C,1)", cpu, 'C', 1, MIGRATION_SYSTEM},                                                 \
        {"(" letter ",C,2)", cpu, 'C', 2, MIGRATION_SYSTEM},                                                 \
        {"(" letter ",C,3)", cpu, 'C', 3, MIGRATION_SYSTEM},                                                 \
        {"(" letter ",C^P2P,1)", cpu, 'C', 1, MIGRATION_P2P},                                                \
        {"(" letter ",C^P2P,2)", cpu, 'C', 2, MIGRATION_P2P},                                                \
        {"(" letter ",C^P2P,3)", cpu, 'C', 3, MIGRATION_P2P},                                                \
        {"(" letter ",G,1)", cpu, 'G', 1, MIGRATION_SYSTEM},                                                 \
        {"(" letter ",G,2)", cpu, 'G', 2, MIGRATION_SYSTEM},                                                 \
    {                                                                                                        \
        "(" letter ",G,3)", cpu, 'G', 3, MIGRATION_SYSTEM                                                    \
    }

static const struct gpusync_configuration configurations[] = {
    GPU_ORGANISATIONS('P', "P"), GPU_ORGANISATIONS('C', "C"), GPU_ORGANISATIONS('G', "G")};

_Static_assert(sizeof configurations / sizeof configurations[0] == GPUSYNC_CONFIGURATIONS, "Table IV");

const struct gpusync_configuration *gpusync_configurations(void)
{
    return configurations;
}

void gpusync_configuration_platform(const struct gpusync_configuration *configuration,
                                    const struct overheads *overheads, struct platform *ret_platform)
{
    *ret_platform = (struct platform){
        .cpus = 12,
        .cpu_cluster = configuration->cpu == 'P'   ? 1
                       : configuration->cpu == 'C' ? 6
                                                   : 12,
        .numa_nodes = 2,
        .gpus = 8,
        .gpu_cluster = configuration->gpu == 'P'   ? 1
                       : configuration->gpu == 'C' ? 2
                                                   : 8,
        .copy_engines = 2,
        .tokens_per_gpu = configuration->tokens,
        .buses = 2,
        .migration = configuration->migration,
        .chunk_in = MIB,
        .chunk_out = MIB,
        .has_overheads = true,
        .overheads = *overheads,
    };
}
