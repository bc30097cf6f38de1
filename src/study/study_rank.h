/*
 * Ranks configurations as GPUSync's Table IV does. For each parameter combination a sub-rank
 * follows from the area under the schedulability curve; ties share the average. Configurations are
 * ordered by the median of the sub-ranks, ties by their average. Combinations that are unfinished
 * for some configuration are left out.
 */
#ifndef STUDY_STUDY_RANK_H
#define STUDY_STUDY_RANK_H

#include "study/store/store.h"

struct rank_row {
    const char *configuration;
    double median, average, deviation, area; /* of sub-ranks; area: mean over combinations */
    size_t rank;                             /* from 1 */
};

struct rank_table {
    const char *overheads;
    size_t combinations, unfinished;
    struct rank_row *rows; /* in the order of the configurations; all tables alike */
    size_t *order;         /* rows by rank */
};

struct ranking {
    struct arena arena;
    size_t n_configurations;
    struct rank_table tables[STUDY_MAX_OVERHEADS];
    size_t n_tables;
};

/* 0, -errno (store_message() gives the reason) or STORE_OTHER: nothing to rank. */
int ranking_make(struct store *store, struct ranking *ret_ranking);
void ranking_done(struct ranking *ranking);

/* The table of this overhead set, or NULL. */
const struct rank_table *ranking_table(const struct ranking *ranking, const char *overheads);

/*
 * The arithmetic. Sub-ranks of areas[0..n): 1 for the largest, equal areas share the average.
 * Median, average and deviation of values, which are sorted in place.
 */
void rank_sub_ranks(const double areas[], size_t n, double ret_ranks[]);
void rank_summarise(double values[], size_t n, struct rank_row *ret_row);

#endif
