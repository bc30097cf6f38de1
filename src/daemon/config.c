#include "daemon/config_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/defaults.h"
#include "model/document.h"
#include "model/platform.h"

#define CONFIG_FILE_LIMIT (1 << 20)

void config_init(struct config *config)
{
    *config = (struct config){
        .profile = (enum sched_profile_id)sched_profile_find(DEFAULT_PROFILE),
        .policy = POLICY_ADAPTIVE, /* like DEFAULT_POLICY for every program that has a priority */
        .lock = (enum sched_lock_id)sched_lock_find(DEFAULT_LOCK),
        .clients = 512,
        .devices = 8,
        .copy_engines = DEFAULT_COPY_ENGINES,
        .buses = DEFAULT_BUSES,
        .tokens_per_gpu = DEFAULT_TOKENS_PER_GPU,
        .gpu_cluster = 1,
        .migration = MIGRATION_ON_DEMAND,
        .overrun = OVERRUN_DEMOTE,
        .declare = true,
        .probe = true,
        .settle = 250 * NSEC_PER_MS,
        .late_yield = NSEC_PER_SEC,
        .realtime = true,
        .awake = true,
        .band_low = 10,
        .band_high = 40,
        .admission = ADMISSION_REFUSE,
        .planner_limit = 5 * NSEC_PER_SEC,
        .others = {.ceiling = 50, .clients = 256},
    };
}

struct config_user config_user(const struct config *config, uid_t uid, uid_t own)
{
    for (size_t i = 0; i < config->n_users; i++) {
        if (config->users[i].uid == uid)
            return config->users[i];
    }
    if (uid == 0 || uid == own)
        return (struct config_user){.uid = uid, .ceiling = 99, .clients = config->clients};
    return config->others;
}

bool config_may_run(const struct config *config, uid_t uid, const char *task)
{
    bool claimed = false;

    for (size_t i = 0; i < config->n_claims; i++) {
        if (strcmp(config->claims[i].task, task) != 0)
            continue;
        if (config->claims[i].uid == uid)
            return true;
        claimed = true;
    }
    return !claimed || uid == 0;
}

/* ---- reading: each helper answers 0 when the key is absent ---- */

int config_unsigned(const struct reader *reader, const char *key, int64_t low, int64_t high,
                    unsigned *ret_value)
{
    const struct node *node = node_get(reader->mapping, key);
    int64_t value;
    int result;

    if (!node)
        return 0;
    result = node_int(reader->document, node, key, low, high, &value, reader->error);
    if (result == 0)
        *ret_value = (unsigned)value;
    return result;
}

static int read_bool(const struct reader *reader, const char *key, bool *ret_value)
{
    const struct node *node = node_get(reader->mapping, key);

    return node ? node_bool(reader->document, node, ret_value, reader->error) : 0;
}

static int read_ms(const struct reader *reader, const char *key, baton_nsec *ret_value)
{
    const struct node *node = node_get(reader->mapping, key);

    return node ? node_duration(reader->document, node, "a time in ms", NSEC_PER_MS, 0, ret_value,
                                reader->error)
                : 0;
}

/* A name from one of the scheduler's tables. */
static int read_entry(const struct reader *reader, const char *key, int (*find)(const char *), int *ret_index)
{
    const struct node *node = node_get(reader->mapping, key);
    const char *text;
    int result;
    int index;

    if (!node)
        return 0;
    result = node_text(reader->document, node, key, &text, reader->error);
    if (result)
        return result;
    index = find(text);
    if (index < 0)
        return document_reject(reader->document, node, reader->error, "a %s", key);
    *ret_index = index;
    return 0;
}

static int read_schedule(const struct reader *reader, struct config *config)
{
    int profile = config->profile;
    int policy = config->policy;
    int lock = config->lock;
    int result = read_entry(reader, "profile", sched_profile_find, &profile);

    if (!result)
        result = read_entry(reader, "policy", sched_policy_find, &policy);
    if (!result)
        result = read_entry(reader, "lock", sched_lock_find, &lock);
    config->profile = (enum sched_profile_id)profile;
    config->policy = (enum sched_policy_id)policy;
    config->lock = (enum sched_lock_id)lock;
    return result;
}

static int read_tokens(const struct reader *reader, unsigned *ret_tokens)
{
    const struct node *node = node_get(reader->mapping, "tokens_per_gpu");

    if (!node || node->kind != NODE_SCALAR || strcmp(node->text, "inf") != 0)
        return config_unsigned(reader, "tokens_per_gpu", 1, 1024, ret_tokens);
    *ret_tokens = TOKENS_UNLIMITED;
    return 0;
}

static int read_migration(const struct reader *reader, struct config *config)
{
    static const char *const names[] = {"none", "system", "p2p", "ondemand", NULL};
    static const enum migration ways[] = {MIGRATION_NONE, MIGRATION_SYSTEM, MIGRATION_P2P,
                                          MIGRATION_ON_DEMAND};
    const struct node *node = node_get(reader->mapping, "migration");
    unsigned way = 0;
    int result;

    if (!node)
        return 0;
    result = node_choice(reader->document, node, "none, system, p2p or ondemand", names, &way, reader->error);
    if (!result)
        config->migration = ways[way];
    return result;
}

static int read_overrun(const struct reader *reader, struct config *config)
{
    static const char *const modes[] = {"off", "demote", "throttle", "end", NULL};
    const struct node *node = node_get(reader->mapping, "overrun");
    unsigned mode = config->overrun;
    int result = node ? node_choice(reader->document, node, "off, demote, throttle or end", modes, &mode,
                                    reader->error)
                      : 0;

    config->overrun = (enum overrun_mode)mode;
    return result;
}

static int read_numbers(const struct reader *reader, struct config *config)
{
    int result = 0;

    if (!result)
        result = config_unsigned(reader, "clients", 1, CONFIG_MAX_CLIENTS, &config->clients);
    if (!result)
        result = config_unsigned(reader, "devices", 1, PLATFORM_MAX_GPUS, &config->devices);
    if (!result)
        result = config_unsigned(reader, "copy_engines", 1, 2, &config->copy_engines);
    if (!result)
        result = config_unsigned(reader, "buses", 1, PLATFORM_MAX_GPUS, &config->buses);
    if (!result)
        result = read_tokens(reader, &config->tokens_per_gpu);
    if (!result)
        result = config_unsigned(reader, "gpu_cluster", 1, PLATFORM_MAX_GPUS, &config->gpu_cluster);
    if (!result)
        result = config_unsigned(reader, "cpu_cluster", 1, PLATFORM_MAX_CPUS, &config->cpu_cluster);
    if (!result)
        result = read_bool(reader, "declare", &config->declare);
    if (!result)
        result = read_bool(reader, "probe", &config->probe);
    if (!result)
        result = read_bool(reader, "realtime", &config->realtime);
    if (!result)
        result = read_bool(reader, "awake", &config->awake);
    if (!result)
        result = read_ms(reader, "settle_ms", &config->settle);
    if (!result)
        result = read_ms(reader, "late_yield_ms", &config->late_yield);
    if (!result)
        result = read_ms(reader, "idle_exit_ms", &config->idle_exit);
    return result;
}

static int read_band(const struct reader *reader, struct config *config)
{
    const struct node *node = node_get(reader->mapping, "band");
    int64_t low;
    int64_t high;
    int result;

    if (!node)
        return 0;
    result = node_expect_sequence(reader->document, node, "[LOW, HIGH]", reader->error);
    if (result)
        return result;
    if (node->n != 2)
        return document_reject(reader->document, node, reader->error, "[LOW, HIGH]");
    result = node_int(reader->document, node->first, "a SCHED_FIFO priority", 1, 98, &low, reader->error);
    if (!result)
        result = node_int(reader->document, node->first->next, "a SCHED_FIFO priority above LOW", low, 98,
                          &high, reader->error);
    if (!result) {
        config->band_low = (unsigned)low;
        config->band_high = (unsigned)high;
    }
    return result;
}

static int read_device(const struct reader *reader, struct config_device *device)
{
    const struct node *node = node_get(reader->mapping, "name");
    const char *name;
    int result;

    if (!node)
        return document_reject(reader->document, reader->mapping, reader->error, "name: of a device");
    result = node_text(reader->document, node, "a device's name", &name, reader->error);
    if (result)
        return result;
    if (!device_name_valid(name))
        return document_reject(reader->document, node, reader->error, "a device's name: a-z 0-9 : . - _");
    memcpy(device->name, name, strlen(name) + 1);
    result = config_unsigned(reader, "copy_engines", 1, 2, &device->copy_engines);
    return result ? result : read_ms(reader, "drain_ms", &device->drain);
}

static int read_devices(const struct reader *reader, struct config *config)
{
    static const char *const keys[] = {"name", "copy_engines", "drain_ms", NULL};
    const struct node *list = node_get(reader->mapping, "gpus");
    int result;

    if (!list)
        return 0;
    result = node_expect_sequence(reader->document, list, "a list of GPUs", reader->error);
    if (result)
        return result;
    config->n_listed = 0;
    for (const struct node *node = list->first; node; node = node->next) {
        struct reader inner = {reader->document, node, reader->error};
        struct config_device *device = &config->listed[config->n_listed];

        if (config->n_listed == CONFIG_MAX_DEVICES || config->n_listed == config->devices)
            return document_reject(reader->document, node, reader->error, "at most %u GPUs (devices:)",
                                   config->devices);
        *device = (struct config_device){.copy_engines = config->copy_engines};
        result = node_expect_mapping(reader->document, node, keys, reader->error);
        if (!result)
            result = read_device(&inner, device);
        if (result)
            return result;
        config->n_listed++;
    }
    return 0;
}

static int read_path(const struct reader *reader, const char *key, char *ret_path, size_t size)
{
    const struct node *node = node_get(reader->mapping, key);
    const char *path;
    int result;

    if (!node)
        return 0;
    result = node_text(reader->document, node, "a path", &path, reader->error);
    if (result)
        return result;
    if (strlen(path) >= size)
        return document_reject(reader->document, node, reader->error, "a shorter path");
    memcpy(ret_path, path, strlen(path) + 1);
    return 0;
}

/*
 * `partition: {devices: [0], programs: [1, 2]}`: cores. The administrator sets the partition up;
 * batond only reads the declaration. daemon/claims.c compares it with the machine.
 */
static int read_partition(const struct reader *reader, struct config *config)
{
    static const char *const keys[] = {"devices", "programs", NULL};
    const struct node *node = node_get(reader->mapping, "partition");
    struct core_set sets[2] = {{{0}}, {{0}}}; /* by key */
    int result = 0;

    if (!node)
        return 0;
    result = node_expect_mapping(reader->document, node, keys, reader->error);
    for (size_t i = 0; keys[i] && !result; i++) {
        const struct node *list = node_get(node, keys[i]);

        if (!list)
            return document_reject(reader->document, node, reader->error, "%s: a list of cores", keys[i]);
        result = node_expect_sequence(reader->document, list, "a list of cores", reader->error);
        for (const struct node *cpu = result ? NULL : list->first; cpu && !result; cpu = cpu->next) {
            int64_t index;

            result = node_int(reader->document, cpu, "a core", 0, CORES_MAX - 1, &index, reader->error);
            if (!result &&
                (core_set_has(&sets[0], (unsigned)index) || core_set_has(&sets[1], (unsigned)index)))
                return document_reject(reader->document, cpu, reader->error, "each core once");
            if (!result)
                core_set_add(&sets[i], (unsigned)index);
        }
        if (!result && !list->n)
            return document_reject(reader->document, list, reader->error, "at least one core");
    }
    if (!result) {
        config->partitioned = true;
        config->device_cores = sets[0];
        config->program_cores = sets[1];
    }
    return result;
}

unsigned config_metrics_port(const char *where)
{
    const char *digits = strncmp(where, "127.0.0.1:", 10) == 0 ? where + 10 : "";
    size_t n = strspn(digits, "0123456789");
    unsigned long port = n >= 1 && n <= 5 && !digits[n] ? strtoul(digits, NULL, 10) : 0;

    return port <= 65535 ? (unsigned)port : 0;
}

/* Local only: a socket path, or a port that other machines cannot reach. */
static int read_metrics(const struct reader *reader, struct config *config)
{
    const struct node *node = node_get(reader->mapping, "metrics");
    int result = read_path(reader, "metrics", config->metrics, sizeof config->metrics);

    if (!result && node && node->text[0] != '/' && !config_metrics_port(node->text))
        return document_reject(reader->document, node, reader->error,
                               "an absolute path, or 127.0.0.1:PORT with a port from 1 to 65535");
    return result;
}

static int read_admission(const struct reader *reader, struct config *config)
{
    static const char *const modes[] = {"off", "refuse", "best-effort", NULL};
    const struct node *node = node_get(reader->mapping, "admission");
    unsigned mode = config->admission;
    int result = read_path(reader, "plan", config->plan, sizeof config->plan);

    if (!result)
        result = read_path(reader, "overheads", config->overheads, sizeof config->overheads);
    if (!result)
        result = read_path(reader, "tasks", config->tasks, sizeof config->tasks);
    if (!result)
        result = read_path(reader, "planner", config->planner, sizeof config->planner);
    if (!result)
        result = read_metrics(reader, config);
    if (!result)
        result = read_ms(reader, "planner_ms", &config->planner_limit);
    if (!result && node)
        result =
            node_choice(reader->document, node, "off, refuse or best-effort", modes, &mode, reader->error);
    config->admission = (enum admission_mode)mode;
    return result ? result : read_partition(reader, config);
}

static int read_all(const struct reader *reader, struct config *config)
{
    static const char *const keys[] = {
#define CONFIG(key, value, otherwise, help) key,
#include "model/daemon_config.def"
#undef CONFIG
        NULL};
    int result = node_expect_mapping(reader->document, reader->mapping, keys, reader->error);

    if (!result)
        result = read_schedule(reader, config);
    if (!result)
        result = read_numbers(reader, config);
    if (!result)
        result = read_migration(reader, config);
    if (!result)
        result = read_overrun(reader, config);
    if (!result)
        result = read_band(reader, config);
    if (!result)
        result = config_users(reader, config);
    if (!result)
        result = read_devices(reader, config);
    if (!result)
        result = read_admission(reader, config);
    return result;
}

int config_read(struct config *config, const char *name, const char *text, size_t size,
                struct input_error *ret_error)
{
    struct document document;
    struct config *next;
    int result = document_parse(name, text, size, &document, ret_error);
    struct reader reader = {&document, NULL, ret_error};

    if (result)
        return result;
    reader.mapping = document.root;
    next = malloc(sizeof *next);
    if (next) {
        *next = *config;
        result = read_all(&reader, next);
        if (result == 0)
            *config = *next;
        free(next);
    } else {
        result = -ENOMEM;
    }
    document_done(&document);
    return result;
}

int config_read_file(struct config *config, const char *path, struct input_error *ret_error)
{
    char *text;
    size_t size;
    int result = file_read(path, CONFIG_FILE_LIMIT, &text, &size);

    if (result)
        return result;
    result = config_read(config, path, text, size, ret_error);
    free(text);
    return result;
}
