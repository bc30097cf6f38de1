/*
 * heartwall: points on the wall of a heart are followed through the frames of a film. Per frame one
 * copy and one launch. Each group takes one point and finds the place in its neighbourhood that is
 * most like the point's template. That has the least sum of squared differences, and is the first
 * one of equals. The group moves the point there and lets the template learn from it. Integers
 * throughout.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME, POINTS, TEMPLATES };
enum { SIDE = 256, PATCH = 16, REACH = 8, FRAMES = 4, GROUP = 64 };

/* A texture of squares and noise that drifts by (2, 1) a frame. */
static void draw_frame(uint8_t *frame, size_t number, const uint32_t *noise)
{
    for (size_t y = 0; y < SIDE; y++) {
        for (size_t x = 0; x < SIDE; x++) {
            size_t u = x + SIDE - 2 * number;
            size_t v = y + SIDE - number;
            uint32_t texture = noise[(v / 3 % 64) * 64 + u / 3 % 64];
            frame[y * SIDE + x] = (uint8_t)(texture % 192 + noise[(x * 31 + y * 17 + number) % 4096] % 8);
        }
    }
}

static void heartwall_prepare(struct work *work)
{
    size_t n = work->size;
    uint8_t *frames = work_array(work, (size_t)SIDE * SIDE * FRAMES); /* the first array */
    uint32_t *noise = work_words(work, 4096, 1 << 20);
    int32_t *points = work_array(work, 2 * n * sizeof *points);
    uint8_t *templates = work_array(work, n * PATCH * PATCH);

    for (size_t i = 0; i < FRAMES; i++)
        draw_frame(frames + i * SIDE * SIDE, i, noise);
    for (size_t i = 0; i < n; i++) {
        points[2 * i] = (int32_t)random_below(&work->random, SIDE - PATCH);
        points[2 * i + 1] = (int32_t)random_below(&work->random, SIDE - PATCH);
        for (size_t y = 0; y < PATCH; y++)
            memcpy(templates + (i * PATCH + y) * PATCH,
                   frames + ((size_t)points[2 * i + 1] + y) * SIDE + points[2 * i], PATCH);
    }
    work_buffer(work, FRAME, NULL, NULL, (size_t)SIDE * SIDE);
    work_buffer(work, POINTS, points, work_array(work, 2 * n * sizeof *points), 2 * n * sizeof *points);
    work_buffer(work, TEMPLATES, templates, work_array(work, n * PATCH * PATCH), n * PATCH * PATCH);
}

static void heartwall_run(struct work *work)
{
    const uint8_t *frames = work->arrays[0];

    for (size_t i = 0; i < FRAMES; i++) {
        work_write(work, FRAME, frames + i * SIDE * SIDE, (size_t)SIDE * SIDE);
        LAUNCH(work, "track", SHAPE1(work->size * GROUP, GROUP), BUFFER(FRAME), BUFFER(POINTS),
               BUFFER(TEMPLATES));
    }
}

static void track_point(const uint8_t *frame, int32_t *point, uint8_t *template)
{
    uint32_t best = UINT32_MAX;
    int best_x = 0;
    int best_y = 0;

    for (int y = point[1] - REACH; y <= point[1] + REACH; y++) {
        for (int x = point[0] - REACH; x <= point[0] + REACH; x++) {
            uint32_t cost = 0;
            if (x < 0 || y < 0 || x > SIDE - PATCH || y > SIDE - PATCH)
                continue;
            for (int i = 0; i < PATCH * PATCH; i++) {
                int off = frame[(y + i / PATCH) * SIDE + x + i % PATCH] - template[i];
                cost += (uint32_t)(off * off);
            }
            if (cost < best) {
                best = cost;
                best_x = x;
                best_y = y;
            }
        }
    }
    point[0] = best_x;
    point[1] = best_y;
    for (int i = 0; i < PATCH * PATCH; i++)
        template[i] =
            (uint8_t)((3 * template[i] + frame[(best_y + i / PATCH) * SIDE + best_x + i % PATCH] + 2) / 4);
}

static bool heartwall_check(const struct work *work)
{
    const uint8_t *frames = work->arrays[0];
    size_t n = work->size;
    int32_t *points = check_array(2 * n * sizeof *points);
    uint8_t *templates = check_array(n * PATCH * PATCH);
    bool ok;

    memcpy(points, work->buffers[POINTS].in, 2 * n * sizeof *points);
    memcpy(templates, work->buffers[TEMPLATES].in, n * PATCH * PATCH);
    for (size_t frame = 0; frame < FRAMES; frame++)
        for (size_t i = 0; i < n; i++)
            track_point(frames + frame * SIDE * SIDE, points + 2 * i, templates + i * PATCH * PATCH);
    ok = check_bytes(work, work->buffers[POINTS].out, points, 2 * n * sizeof *points) &&
         check_bytes(work, work->buffers[TEMPLATES].out, templates, n * PATCH * PATCH);
    free(points);
    free(templates);
    return ok;
}

const struct workload workload_heartwall = {
    .name = "heartwall",
    .row = "heartwall (GPES)",
    .unit = "points",
    .sizes = {16, 64, 512},
    .source = OPENCL(
        constant int side = 256; constant int patch = 16; constant int reach = 8;

        uint difference(global const uchar *frame, int x, int y, local const uchar *expected) {
            uint cost = 0;
            for (int i = 0; i < patch; i++) {
                for (int j = 0; j < patch; j++) {
                    int off = frame[(y + i) * side + x + j] - expected[i * patch + j];
                    cost += off * off;
                }
            }
            return cost;
        }

        kernel __attribute__((reqd_work_group_size(64, 1, 1))) void track(
            global const uchar *frame, global int2 *points, global uchar *templates) {
            local uchar expected[256];
            local uint costs[64];
            local int places[64];
            int l = get_local_id(0);
            int span = 2 * reach + 1;
            global uchar *mine = templates + get_group_id(0) * patch * patch;
            int2 point = points[get_group_id(0)];
            uint best = UINT_MAX;
            int best_place = span * span;
            for (int i = l; i < patch * patch; i += 64)
                expected[i] = mine[i];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int place = l; place < span * span; place += 64) {
                int x = point.x - reach + place % span;
                int y = point.y - reach + place / span;
                if (x >= 0 && y >= 0 && x <= side - patch && y <= side - patch) {
                    uint cost = difference(frame, x, y, expected);
                    if (cost < best) {
                        best = cost;
                        best_place = place;
                    }
                }
            }
            costs[l] = best;
            places[l] = best_place;
            for (int width = 32; width > 0; width /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < width && (costs[l + width] < costs[l] ||
                                  (costs[l + width] == costs[l] && places[l + width] < places[l]))) {
                    costs[l] = costs[l + width];
                    places[l] = places[l + width];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            int2 found = (int2)(point.x - reach + places[0] % span, point.y - reach + places[0] / span);
            for (int i = l; i < patch * patch; i += 64)
                mine[i] =
                    (3 * expected[i] + frame[(found.y + i / patch) * side + found.x + i % patch] + 2) / 4;
            if (l == 0)
                points[get_group_id(0)] = found;
        }),
    .prepare = heartwall_prepare,
    .run = heartwall_run,
    .check = heartwall_check,
};
