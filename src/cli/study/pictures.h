/* The pictures of a study: schedulability curves, rank tables. Each writes one SVG. */
#ifndef CLI_STUDY_PICTURES_H
#define CLI_STUDY_PICTURES_H

#include <stdio.h>

#include "study/study_rank.h"
#include "study/store/store.h"

#define STUDY_MAX_CURVES 16

/* One parameter combination under one overhead set. */
struct study_scene {
    char overheads[64];
    char names[STUDY_PARAMETERS][64]; /* of its distributions; gpu_share as a number */
    long long distributions[STUDY_PARAMETERS];
    double gpu_share;
};

/* "AC/L: u medium, p moderate, kernel short, ...": short enough for a picture. */
void study_scene_title(const struct study_scene *scene, char ret_title[], size_t size);

/*
 * The curves of a scene: the best of every group of configurations that differ only in rho (as in
 * the paper's Fig. 8), or all if there are few. 0 or -errno.
 */
int study_draw_curves(struct store *store, const struct ranking *ranking, const struct study_scene *scene,
                      FILE *out);

/* A rank table with the average sub-rank as a bar and the median as a tick. */
void study_draw_ranks(const struct ranking *ranking, const struct rank_table *table, FILE *out);

/* Policies of a gema study under one analysis ("printed", "sound", "sound-placed"). */
int study_draw_gema(struct store *store, const char *analysis, FILE *out);

#endif
