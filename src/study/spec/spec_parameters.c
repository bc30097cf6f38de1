/* `parameters:`: the distributions of Sec. V by name, or the user's own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "study/spec/spec_read.h"

#define KIB 1024.0
#define MIB (1024 * 1024.0)

/*
 * Table of Sec. V; period in us. The paper gives only ranges for kernel and state; the names are
 * Baton's.
 */
static const struct study_choices presets[STUDY_PARAMETERS] = {
    [PARAMETER_UTILISATION] = {{{"light", 0.01, 0.1}, {"medium", 0.1, 0.4}, {"heavy", 0.5, 0.9}}, 3},
    [PARAMETER_PERIOD] = {{{"moderate", 33e3, 100e3}, {"long", 200e3, 1000e3}}, 2},
    [PARAMETER_KERNEL] = {{{"short", 0.1, 0.25}, {"medium", 0.25, 0.75}, {"long", 0.75, 0.95}}, 3},
    [PARAMETER_DATA] =
        {{{"light", 256 * KIB, 256 * KIB}, {"medium", 2 * MIB, 2 * MIB}, {"heavy", 8 * MIB, 8 * MIB}}, 3},
    [PARAMETER_STATE] = {{{"none", 0, 0}, {"quarter", 0.25, 0.25}, {"whole", 1, 1}}, 3},
    /* As the published database writes them. */
    [PARAMETER_SHARE] = {{{"third", 0.333333, 0.333333}, {"two-thirds", 0.666667, 0.666667}, {"all", 1, 1}},
                         3},
};

struct parameter_range {
    double low, high, unit; /* the range in a file; file value x unit is the internal value */
    const char *what;
};

static const struct parameter_range ranges[STUDY_PARAMETERS] = {
    [PARAMETER_UTILISATION] = {1e-3, 1, 1, "a utilisation between 0.001 and 1"},
    [PARAMETER_PERIOD] = {0.1, 1e6, 1000, "a period in ms"},
    [PARAMETER_KERNEL] = {0, 1, 1, "a part between 0 and 1"},
    [PARAMETER_DATA] = {0, 1e12, 1, "a size"},
    [PARAMETER_STATE] = {0, 1000, 1, "a multiple of the data"},
    [PARAMETER_SHARE] = {0, 1, 1, "a part between 0 and 1"},
};

static int read_number(const struct document *document, const struct node *node, size_t parameter,
                       double *ret_value, struct input_error *ret_error)
{
    const struct parameter_range *range = &ranges[parameter];
    int64_t bytes;
    double value;
    int result;

    if (parameter == PARAMETER_DATA) {
        result = node_bytes(document, node, range->what, &bytes, ret_error);
        if (!result)
            *ret_value = (double)bytes;
        return result;
    }
    result = node_number(document, node, range->what, range->low, range->high, &value, ret_error);
    if (!result)
        *ret_value = value * range->unit;
    return result;
}

static int read_own(const struct document *document, const struct node *entry, size_t parameter,
                    struct study_spec *spec, struct study_distribution *ret_value,
                    struct input_error *ret_error)
{
    static const char *const keys[] = {"name", "low", "high", NULL};
    const char *name = NULL;
    int result = node_expect_mapping(document, entry, keys, ret_error);

    for (size_t i = 0; keys[i] && !result; i++)
        if (!node_get(entry, keys[i]))
            result = document_reject(document, entry, ret_error, "a name, low and high");
    if (!result)
        result = node_text(document, node_get(entry, "name"), "a name", &name, ret_error);
    if (!result)
        result = read_number(document, node_get(entry, "low"), parameter, &ret_value->low, ret_error);
    if (!result)
        result = read_number(document, node_get(entry, "high"), parameter, &ret_value->high, ret_error);
    if (!result && ret_value->high < ret_value->low)
        result = document_reject(document, node_get(entry, "high"), ret_error, "a value not below `low`");
    if (!result && parameter == PARAMETER_SHARE && ret_value->low != ret_value->high)
        result = document_reject(document, entry, ret_error, "low and high alike (gpu_share is a constant)");
    if (!result && !(ret_value->name = spec_keep(spec, name)))
        result = -ENOMEM;
    return result;
}

/* A preset's name, a number (a constant named by itself), or {name, low, high}. */
static int read_value(const struct document *document, const struct node *entry, size_t parameter,
                      struct study_spec *spec, struct study_distribution *ret_value,
                      struct input_error *ret_error)
{
    const struct study_choices *preset = &presets[parameter];
    int result;

    if (entry->kind == NODE_MAPPING)
        return read_own(document, entry, parameter, spec, ret_value, ret_error);
    for (size_t i = 0; entry->kind == NODE_SCALAR && i < preset->n; i++)
        if (strcmp(entry->text, preset->values[i].name) == 0) {
            *ret_value = preset->values[i];
            return 0;
        }
    result = read_number(document, entry, parameter, &ret_value->low, ret_error);
    if (result)
        return result;
    ret_value->high = ret_value->low;
    for (size_t i = 0; i < preset->n; i++)
        if (preset->values[i].low == ret_value->low && preset->values[i].high == ret_value->low) {
            *ret_value = preset->values[i];
            return 0;
        }
    ret_value->name = spec_keep(spec, entry->text);
    return ret_value->name ? 0 : -ENOMEM;
}

static int read_choices(const struct document *document, const struct node *node, size_t parameter,
                        struct study_spec *spec, struct input_error *ret_error)
{
    struct study_choices *choices = &spec->choices[parameter];
    const struct node *entry = node;
    int result = 0;

    if (node->kind == NODE_SEQUENCE) {
        if (node->n == 0 || node->n > STUDY_MAX_CHOICES)
            return document_reject(document, node, ret_error, "1 to %d values", STUDY_MAX_CHOICES);
        entry = node->first;
    }
    for (; entry && !result; entry = node->kind == NODE_SEQUENCE ? entry->next : NULL) {
        struct study_distribution *value = &choices->values[choices->n];

        result = read_value(document, entry, parameter, spec, value, ret_error);
        for (size_t i = 0; i < choices->n && !result; i++)
            if (strcmp(choices->values[i].name, value->name) == 0)
                result = document_reject(document, entry, ret_error, "each value once");
        choices->n += !result;
    }
    return result;
}

int spec_read_parameters(const struct document *document, const struct node *node, struct study_spec *spec,
                         struct input_error *ret_error)
{
    int result = node ? node_expect_mapping(document, node, study_parameter_names, ret_error) : 0;

    for (size_t p = 0; p < STUDY_PARAMETERS && !result; p++) {
        const struct node *value = node ? node_get(node, study_parameter_names[p]) : NULL;

        if (value)
            result = read_choices(document, value, p, spec, ret_error);
        else
            spec->choices[p] = presets[p];
    }
    return result;
}
