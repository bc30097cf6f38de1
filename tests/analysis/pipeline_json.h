/* Reads the pipelines of the reference files (data/sound.json, data/gema.json) with jansson. */
#ifndef TESTS_ANALYSIS_PIPELINE_JSON_H
#define TESTS_ANALYSIS_PIPELINE_JSON_H

#include <jansson.h>

#include "analysis/pipeline/pipeline.h"

/*
 * The parsed file below tests/analysis/data/; the test fails if there is none. The caller calls
 * json_decref().
 */
json_t *pipeline_json_load(const char *name);

/* One case of sound.json: stages as they are, one option per task. */
void pipeline_json_sound(const json_t *entry, struct arena *arena, struct pipeline *ret_pipeline);

/* One case of gema.json: two options per task, single and multi. */
void pipeline_json_gema(const json_t *entry, struct arena *arena, struct pipeline *ret_pipeline);

/* entry[key][index], an integer. */
baton_nsec pipeline_json_at(const json_t *entry, const char *key, size_t index);

#endif
