/* `platforms:`: all of Table IV, some of its configurations by name, or the user's own machines. */
#include <errno.h>
#include <string.h>

#include "analysis/gpusync/input/gpusync_configurations.h"
#include "study/spec/spec_read.h"

const char *spec_keep(struct study_spec *spec, const char *text)
{
    return arena_strndup(&spec->arena, text, strlen(text));
}

static enum study_organisation organisation_of(const struct platform *platform)
{
    if (platform->cpu_cluster == 1)
        return ORGANISATION_PARTITIONED;
    return platform->cpu_cluster == platform->cpus && platform->numa_nodes > 1 ? ORGANISATION_GLOBAL
                                                                               : ORGANISATION_CLUSTERED;
}

static int add(struct study_spec *spec, const char *name, const struct platform *platform)
{
    struct study_configuration *entry = &spec->configurations[spec->n_configurations];

    entry->name = spec_keep(spec, name);
    if (!entry->name)
        return -ENOMEM;
    entry->platform = *platform;
    entry->organisation = organisation_of(platform);
    spec->n_configurations++;
    return 0;
}

static int add_table_iv(struct study_spec *spec, const struct gpusync_configuration *configuration)
{
    static const struct overheads none;
    struct platform platform;

    gpusync_configuration_platform(configuration, &none, &platform);
    return add(spec, configuration->name, &platform);
}

static int add_named(const struct document *document, const struct node *entry, struct study_spec *spec,
                     struct input_error *ret_error)
{
    const struct gpusync_configuration *table = gpusync_configurations();
    const char *name;
    int result = node_text(document, entry, "the name of a configuration", &name, ret_error);

    if (result)
        return result;
    for (size_t i = 0; i < GPUSYNC_CONFIGURATIONS; i++)
        if (strcmp(table[i].name, name) == 0)
            return add_table_iv(spec, &table[i]);
    return document_reject(
        document, entry, ret_error,
        "table-iv, or configurations of Table IV such as \"(C,P,inf)\", or {name, platform}");
}

static int add_own(const struct document *document, const struct node *entry, struct study_spec *spec,
                   struct input_error *ret_error)
{
    static const char *const keys[] = {"name", "platform", NULL};
    const char *name = NULL;
    struct platform platform = {0};
    int result = node_expect_mapping(document, entry, keys, ret_error);

    if (!result && (!node_get(entry, "name") || !node_get(entry, "platform")))
        result = document_reject(document, entry, ret_error, "a name and a platform");
    if (!result)
        result = node_text(document, node_get(entry, "name"), "a name", &name, ret_error);
    if (!result)
        result = platform_read(document, node_get(entry, "platform"), &spec->arena, &platform, ret_error);
    if (!result && platform.has_overheads)
        result = document_reject(document, node_get(entry, "platform"), ret_error,
                                 "a platform without overheads (they are the study's)");
    if (!result && platform.gpus == 0)
        result = document_reject(document, node_get(entry, "platform"), ret_error, "a platform with GPUs");
    return result ? result : add(spec, name, &platform);
}

int spec_read_platforms(const struct document *document, const struct node *node, struct study_spec *spec,
                        struct input_error *ret_error)
{
    int result = 0;

    if (!node || (node->kind == NODE_SCALAR && strcmp(node->text, "table-iv") == 0)) {
        for (size_t i = 0; i < GPUSYNC_CONFIGURATIONS && !result; i++)
            result = add_table_iv(spec, &gpusync_configurations()[i]);
        return result;
    }
    result = node_expect_sequence(document, node, "table-iv or a list of configurations", ret_error);
    if (!result && (node->n == 0 || node->n > STUDY_MAX_CONFIGURATIONS))
        result =
            document_reject(document, node, ret_error, "1 to %d configurations", STUDY_MAX_CONFIGURATIONS);
    for (const struct node *entry = result ? NULL : node->first; entry && !result; entry = entry->next) {
        result = entry->kind == NODE_MAPPING ? add_own(document, entry, spec, ret_error)
                                             : add_named(document, entry, spec, ret_error);
        for (size_t i = 0; !result && i + 1 < spec->n_configurations; i++)
            if (strcmp(spec->configurations[i].name, spec->configurations[spec->n_configurations - 1].name) ==
                0)
                result = document_reject(document, entry, ret_error, "each name once");
    }
    return result;
}
