#include "cli/trace_picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "report/svg.h"

#define TOKEN_LANES   8u /* rows for tokens of one GPU; the last one takes the rest */
#define ENGINE_ROWS   (TOKEN_LANES + 1u)
#define PICTURE_SPANS 3000u /* more cannot be distinguished */

/* Places of rows: for each engine its tokens and its runs, then one for each program. */
struct picture {
    const struct trace_recording *recording;
    uint64_t from_at, first_at;
    struct svg_bar *bars;
    struct svg_mark *marks;
    size_t n_bars, n_marks, n_places;
    size_t *rows;             /* by place; SIZE_MAX: nothing happened there */
    char (*names)[96];        /* by row */
    const char **shown_names; /* the same */
    size_t n_rows;
};

/* When the last record ended. */
static uint64_t end_of(const struct trace_recording *recording)
{
    uint64_t end_at = 0;

    for (size_t i = 0; i < recording->n; i++) {
        const struct trace_record *record = &recording->records[i];

        if (record->at + record->length > end_at)
            end_at = record->at + record->length;
    }
    return end_at;
}

static bool is_drawn(const struct picture *picture, const struct trace_record *record)
{
    bool job = record->kind == RECORD_JOB;

    return record->at >= picture->from_at && record->length > 0 &&
           recording_client(picture->recording, record->client) &&
           (job || ((record->kind == RECORD_RUN || record->kind == RECORD_TOKEN) &&
                    record->engine < RECORDING_ENGINES));
}

/* The row of a token: the first one that is free at that instant. */
static size_t token_lane(const struct trace_record *record, uint64_t *ends)
{
    uint64_t *of_engine = ends + (size_t)record->engine * TOKEN_LANES;
    size_t lane = 0;

    while (lane + 1 < TOKEN_LANES && of_engine[lane] > record->at)
        lane++;
    of_engine[lane] = record->at + record->length;
    return (size_t)record->engine * ENGINE_ROWS + lane;
}

static size_t client_of(const struct picture *picture, const struct trace_record *record)
{
    return (size_t)(recording_client(picture->recording, record->client) - picture->recording->clients);
}

static void add_record(struct picture *picture, const struct trace_record *record, uint64_t *ends)
{
    size_t client = client_of(picture, record);
    size_t place = record->kind == RECORD_TOKEN ? token_lane(record, ends)
                   : record->kind == RECORD_RUN ? record->engine * ENGINE_ROWS + TOKEN_LANES
                                                : RECORDING_ENGINES * ENGINE_ROWS + client;
    double begin = nsec_to_ms((baton_nsec)(record->at - picture->first_at));

    if (picture->n_bars == PICTURE_SPANS)
        return;
    picture->rows[place] = 0;
    picture->bars[picture->n_bars++] = (struct svg_bar){.row = place,
                                                        .begin = begin,
                                                        .end = begin + nsec_to_ms((baton_nsec)record->length),
                                                        .colour = client,
                                                        .label = picture->recording->clients[client].name,
                                                        .hatched = record->kind != RECORD_RUN};
    if (record->kind == RECORD_JOB)
        picture->marks[picture->n_marks++] = (struct svg_mark){.row = place, .at = begin, .label = "release"};
}

static void name_row(const struct picture *picture, size_t place, char *ret_name, size_t room)
{
    size_t engine = place / ENGINE_ROWS, lane = place % ENGINE_ROWS;

    if (engine >= RECORDING_ENGINES)
        (void)snprintf(ret_name, room, "%s",
                       picture->recording->clients[place - RECORDING_ENGINES * ENGINE_ROWS].name);
    else if (lane == TOKEN_LANES)
        (void)snprintf(ret_name, room, "%s", picture->recording->engines[engine]);
    else
        (void)snprintf(ret_name, room, "%s token %zu", picture->recording->engines[engine], lane + 1);
}

/* Rows in the order of their places, without the empty ones. */
static void number_rows(struct picture *picture)
{
    for (size_t place = 0; place < picture->n_places; place++) {
        if (picture->rows[place] == SIZE_MAX)
            continue;
        picture->rows[place] = picture->n_rows;
        name_row(picture, place, picture->names[picture->n_rows], sizeof picture->names[0]);
        picture->shown_names[picture->n_rows] = picture->names[picture->n_rows];
        picture->n_rows++;
    }
    for (size_t i = 0; i < picture->n_bars; i++)
        picture->bars[i].row = picture->rows[picture->bars[i].row];
    for (size_t i = 0; i < picture->n_marks; i++)
        picture->marks[i].row = picture->rows[picture->marks[i].row];
}

static int collect(struct picture *picture)
{
    const struct trace_recording *recording = picture->recording;
    uint64_t *ends = calloc(RECORDING_ENGINES * TOKEN_LANES, sizeof *ends);

    if (!ends)
        return -ENOMEM;
    picture->first_at = UINT64_MAX;
    for (size_t i = 0; i < recording->n; i++) {
        if (is_drawn(picture, &recording->records[i]) && recording->records[i].at < picture->first_at)
            picture->first_at = recording->records[i].at;
    }
    for (size_t i = 0; i < recording->n; i++) {
        if (is_drawn(picture, &recording->records[i]))
            add_record(picture, &recording->records[i], ends);
    }
    free(ends);
    number_rows(picture);
    return 0;
}

static int draw(const struct picture *picture, const char *path)
{
    struct svg_rows rows = {.title = "What ran under batond",
                            .x_label = "ms",
                            .row_names = picture->shown_names,
                            .n_rows = picture->n_rows,
                            .bars = picture->bars,
                            .n_bars = picture->n_bars,
                            .marks = picture->marks,
                            .n_marks = picture->n_marks};
    struct draft draft;
    int result = draft_begin(&draft);

    if (!result)
        svg_rows(&rows, draft.out);
    return draft_finish(&draft, path, result);
}

int trace_picture_write(const struct trace_recording *recording, baton_nsec last, const char *path)
{
    uint64_t end_at = end_of(recording);
    size_t places = RECORDING_ENGINES * ENGINE_ROWS + recording->n_clients;
    struct picture picture = {.recording = recording,
                              .from_at = end_at > (uint64_t)last ? end_at - (uint64_t)last : 0,
                              .n_places = places,
                              .bars = calloc(PICTURE_SPANS, sizeof *picture.bars),
                              .marks = calloc(PICTURE_SPANS, sizeof *picture.marks),
                              .rows = malloc(places * sizeof *picture.rows),
                              .names = calloc(places, sizeof *picture.names),
                              .shown_names = calloc(places, sizeof *picture.shown_names)};
    int result = -ENOMEM;

    if (picture.bars && picture.marks && picture.rows && picture.names && picture.shown_names) {
        memset(picture.rows, 0xff, places * sizeof *picture.rows);
        result = collect(&picture);
    }
    if (!result)
        result = draw(&picture, path);
    free(picture.bars);
    free(picture.marks);
    free(picture.rows);
    free(picture.names);
    free(picture.shown_names);
    return result;
}
