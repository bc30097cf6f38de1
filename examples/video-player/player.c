/*
 * A video player without a video: every period it has a frame of 480 x 270 (YUV 4:2:0, a pattern
 * that moves), sends it to the device, converts it to RGB, scales it to 640 x 360, sharpens it, and
 * reads it back; then the frame is "shown". Plain OpenCL.
 *
 *   player [--rate FPS] [--frames N] [--seconds S] [--list]
 *
 * Frame i is released at i / rate, whether the one before was shown or not: a late player is late
 * for good until it catches up. Ends after N frames or S seconds. Prints names and numbers: frames,
 * missed (shown after the next release, or not at all), p50_ms, max_ms (release to shown),
 * jitter_ms, jitter_max_ms (|t_i - (t_i-1 + p)|, t_i being when frame i was shown), tardiness_ms
 * and tardiness_max_ms (how long after the next release it was shown, 0 for those in time), wrong.
 * Jitter and tardiness are those of GPES, sec. III; means and largest. --list prints each frame's
 * release and response in ms before it.
 *
 * Some pixels of every frame are computed again on the host; all arithmetic is in whole numbers, so
 * they must be equal.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

enum {
    WIDTH = 480,
    HEIGHT = 270,
    OUT_WIDTH = 640,
    OUT_HEIGHT = 360,
    GROUP = 16,
    GROUP_HIGH = 4,
    PROBES = 64
};

#define LUMA_BYTES  ((size_t)WIDTH * HEIGHT)
#define FRAME_BYTES (LUMA_BYTES * 3 / 2)
#define OUT_PIXELS  ((size_t)OUT_WIDTH * OUT_HEIGHT)

static const char SOURCE[] =
    "int clip(int value) { return clamp(value, 0, 255); }\n"
    /* ITU-R BT.601 in 8-bit fixed point */
    "kernel void to_rgb(global const uchar *yuv, global int4 *rgb, int width, int height)\n"
    "{\n"
    "    int x = (int)get_global_id(0), y = (int)get_global_id(1);\n"
    "    if (x >= width || y >= height)\n"
    "        return;\n"
    "    int place = (y / 2) * (width / 2) + x / 2;\n"
    "    int c = 298 * ((int)yuv[y * width + x] - 16);\n"
    "    int d = (int)yuv[width * height + place] - 128;\n"
    "    int e = (int)yuv[width * height * 5 / 4 + place] - 128;\n"
    "    rgb[y * width + x] = (int4)(clip((c + 409 * e + 128) >> 8), clip((c - 100 * d - 208 * e + 128) >> "
    "8),\n"
    "                                clip((c + 516 * d + 128) >> 8), 255);\n"
    "}\n"
    /* bilinear, 8 bits of fraction */
    "kernel void scale(global const int4 *in, global int4 *out, int width, int height, int out_width, int "
    "out_height)\n"
    "{\n"
    "    int x = (int)get_global_id(0), y = (int)get_global_id(1);\n"
    "    if (x >= out_width || y >= out_height)\n"
    "        return;\n"
    "    int u = x * (width - 1) * 256 / (out_width - 1), v = y * (height - 1) * 256 / (out_height - 1);\n"
    "    int left = u >> 8, top = v >> 8, fu = u & 255, fv = v & 255;\n"
    "    int right = min(left + 1, width - 1), bottom = min(top + 1, height - 1);\n"
    "    int4 a = in[top * width + left] * (256 - fu) + in[top * width + right] * fu;\n"
    "    int4 b = in[bottom * width + left] * (256 - fu) + in[bottom * width + right] * fu;\n"
    "    out[y * out_width + x] = (a * (256 - fv) + b * fv) >> 16;\n"
    "}\n"
    /* unsharp mask over 3 x 3 */
    "kernel void sharpen(global const int4 *in, global uchar4 *out, int width, int height)\n"
    "{\n"
    "    int x = (int)get_global_id(0), y = (int)get_global_id(1);\n"
    "    int4 sum = 0;\n"
    "    if (x >= width || y >= height)\n"
    "        return;\n"
    "    for (int j = -1; j <= 1; j++)\n"
    "        for (int i = -1; i <= 1; i++)\n"
    "            sum += in[clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1)];\n"
    "    int4 own = in[y * width + x];\n"
    "    out[y * width + x] = convert_uchar4_sat(own + (own * 9 - sum) / 9);\n"
    "}\n";

struct player {
    struct device device;
    cl_kernel to_rgb, scale, sharpen;
    cl_mem yuv, rgb, scaled, shown;
    unsigned char frame[FRAME_BYTES];
    unsigned char picture[OUT_PIXELS * 4];
};

/* ---- the same on the host ---- */

static int clip(int value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

static int at_most(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static int rgb_of(const struct player *player, int x, int y, int channel)
{
    size_t place = (size_t)(y / 2) * (WIDTH / 2) + (size_t)x / 2;
    int c = 298 * ((int)player->frame[(size_t)y * WIDTH + (size_t)x] - 16);
    int d = (int)player->frame[LUMA_BYTES + place] - 128;
    int e = (int)player->frame[LUMA_BYTES * 5 / 4 + place] - 128;

    return channel == 0   ? clip((c + 409 * e + 128) >> 8)
           : channel == 1 ? clip((c - 100 * d - 208 * e + 128) >> 8)
                          : clip((c + 516 * d + 128) >> 8);
}

static int scaled_of(const struct player *player, int x, int y, int channel)
{
    int u = x * (WIDTH - 1) * 256 / (OUT_WIDTH - 1);
    int v = y * (HEIGHT - 1) * 256 / (OUT_HEIGHT - 1);
    int left = u >> 8;
    int top = v >> 8;
    int right = at_most(left + 1, WIDTH - 1);
    int bottom = at_most(top + 1, HEIGHT - 1);
    int a = rgb_of(player, left, top, channel) * (256 - (u & 255)) +
            rgb_of(player, right, top, channel) * (u & 255);
    int b = rgb_of(player, left, bottom, channel) * (256 - (u & 255)) +
            rgb_of(player, right, bottom, channel) * (u & 255);

    return (a * (256 - (v & 255)) + b * (v & 255)) >> 16;
}

static int shown_of(const struct player *player, int x, int y, int channel)
{
    int own = scaled_of(player, x, y, channel);
    int sum = 0;

    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += scaled_of(player, at_most(x + i, OUT_WIDTH - 1), at_most(y + j, OUT_HEIGHT - 1), channel);
    return clip(own + (own * 9 - sum) / 9);
}

static bool is_right(const struct player *player, unsigned number)
{
    unsigned place = number * 7919;

    for (int i = 0; i < PROBES; i++) {
        int x;
        int y;
        int channel = i % 3;
        place = place * 1664525U + 1013904223U;
        x = (int)((place >> 8) % OUT_WIDTH);
        y = (int)((place >> 4) % OUT_HEIGHT);
        if (player->picture[((size_t)y * OUT_WIDTH + (size_t)x) * 4 + (size_t)channel] !=
            shown_of(player, x, y, channel))
            return false;
    }
    return true;
}

/* ---- frames ---- */

/* "Decodes" frame n: rings that run outwards over a slow change of colour. */
static void decode(struct player *player, unsigned number)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int dx = x - WIDTH / 2;
            int dy = y - HEIGHT / 2;
            player->frame[y * WIDTH + x] =
                (unsigned char)(16 + (((dx * dx + dy * dy) / 256 - (int)number * 4) & 127) + (x & 63));
        }
    for (size_t i = 0; i < LUMA_BYTES / 4; i++) {
        player->frame[LUMA_BYTES + i] = (unsigned char)(64 + (i % (WIDTH / 2) + number) / 4);
        player->frame[LUMA_BYTES * 5 / 4 + i] =
            (unsigned char)(64 + (i / (WIDTH / 2) + 2 * (size_t)number) / 3);
    }
}

static void launch(struct player *player, cl_kernel kernel, size_t width, size_t height)
{
    size_t local[2] = {GROUP, GROUP_HIGH};
    size_t global[2] = {(width + GROUP - 1) / GROUP * GROUP,
                        (height + GROUP_HIGH - 1) / GROUP_HIGH * GROUP_HIGH};

    device_must(clEnqueueNDRangeKernel(player->device.queue, kernel, 2, NULL, global, local, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
}

static void show(struct player *player)
{
    cl_command_queue queue = player->device.queue;

    device_must(clEnqueueWriteBuffer(queue, player->yuv, CL_FALSE, 0, sizeof player->frame, player->frame, 0,
                                     NULL, NULL),
                "clEnqueueWriteBuffer");
    launch(player, player->to_rgb, WIDTH, HEIGHT);
    launch(player, player->scale, OUT_WIDTH, OUT_HEIGHT);
    launch(player, player->sharpen, OUT_WIDTH, OUT_HEIGHT);
    device_must(clEnqueueReadBuffer(queue, player->shown, CL_TRUE, 0, sizeof player->picture, player->picture,
                                    0, NULL, NULL),
                "clEnqueueReadBuffer");
}

static void set_mem(cl_kernel kernel, cl_uint index, cl_mem mem)
{
    device_must(clSetKernelArg(kernel, index, sizeof mem, &mem), "clSetKernelArg");
}

static void set_size(cl_kernel kernel, cl_uint index, cl_int width, cl_int height)
{
    device_must(clSetKernelArg(kernel, index, sizeof width, &width), "clSetKernelArg");
    device_must(clSetKernelArg(kernel, index + 1, sizeof height, &height), "clSetKernelArg");
}

static void open_player(struct player *player)
{
    struct device *device = &player->device;

    device_open(device, SOURCE);
    player->yuv = device_buffer(device, sizeof player->frame);
    player->rgb = device_buffer(device, LUMA_BYTES * sizeof(cl_int4));
    player->scaled = device_buffer(device, OUT_PIXELS * sizeof(cl_int4));
    player->shown = device_buffer(device, sizeof player->picture);
    player->to_rgb = device_kernel(device, "to_rgb");
    player->scale = device_kernel(device, "scale");
    player->sharpen = device_kernel(device, "sharpen");
    set_mem(player->to_rgb, 0, player->yuv);
    set_mem(player->to_rgb, 1, player->rgb);
    set_size(player->to_rgb, 2, WIDTH, HEIGHT);
    set_mem(player->scale, 0, player->rgb);
    set_mem(player->scale, 1, player->scaled);
    set_size(player->scale, 2, WIDTH, HEIGHT);
    set_size(player->scale, 4, OUT_WIDTH, OUT_HEIGHT);
    set_mem(player->sharpen, 0, player->scaled);
    set_mem(player->sharpen, 1, player->shown);
    set_size(player->sharpen, 2, OUT_WIDTH, OUT_HEIGHT);
}

static void close_player(struct player *player)
{
    cl_mem mems[] = {player->yuv, player->rgb, player->scaled, player->shown};
    cl_kernel kernels[] = {player->to_rgb, player->scale, player->sharpen};

    for (size_t i = 0; i < 3; i++)
        clReleaseKernel(kernels[i]);
    for (size_t i = 0; i < 4; i++)
        clReleaseMemObject(mems[i]);
    device_close(&player->device);
}

/* ---- playing ---- */

struct record {
    double *response; /* ms from the release, by frame */
    double jitter, jitter_max, tardiness, tardiness_max, last;
    size_t n, missed, wrong;
};

static void note(struct record *record, double release, double at, double period)
{
    double response = at - release;
    double late = fmax(0, response - period);
    double jitter = record->n ? fabs(at - (record->last + period)) : 0;

    record->response[record->n++] = response;
    record->missed += response > period;
    record->jitter += jitter;
    record->jitter_max = fmax(record->jitter_max, jitter);
    record->tardiness += late;
    record->tardiness_max = fmax(record->tardiness_max, late);
    record->last = at;
}

static void play(struct player *player, struct record *record, size_t frames, double period, double seconds)
{
    double begin;

    for (unsigned i = 0; i < 3; i++) { /* memory touched, kernels measured, before the film begins */
        decode(player, i);
        show(player);
    }
    begin = now_ms() + period;
    for (size_t i = 0; i < frames && now_ms() < begin + seconds * 1e3; i++) {
        double release = begin + (double)i * period;
        decode(player, (unsigned)i); /* while it waits */
        if (now_ms() < release)
            sleep_until_ms(release);
        show(player);
        note(record, release, now_ms(), period);
        record->wrong += !is_right(player, (unsigned)i);
    }
    record->missed += frames - record->n;
}

int main(int argc, char **argv)
{
    static struct player player;
    double rate = option(argc, argv, "rate", 30);
    size_t frames = (size_t)option(argc, argv, "frames", 120);
    struct record record = {.response = calloc(frames + 1, sizeof(double))};
    double period = 1e3 / (rate > 0 ? rate : 30);
    double n;

    if (!record.response || !frames) {
        fprintf(stderr, "player: no frames, or no memory\n");
        return 3;
    }
    open_player(&player);
    play(&player, &record, frames, period, option(argc, argv, "seconds", 2 * (double)frames * period / 1e3));
    close_player(&player);
    for (size_t i = 0; flag(argc, argv, "list") && i < record.n; i++)
        printf("%.3f %.4f\n", (double)i * period, record.response[i]);
    n = (double)(record.n ? record.n : 1);
    printf(
        "frames %zu missed %zu p50_ms %.3f max_ms %.3f jitter_ms %.3f jitter_max_ms %.3f tardiness_ms %.3f "
        "tardiness_max_ms %.3f wrong %zu\n",
        record.n, record.missed, record.n ? quantile(record.response, record.n, 0.5) : 0,
        record.n ? quantile(record.response, record.n, 1) : 0, record.jitter / n, record.jitter_max,
        record.tardiness / n, record.tardiness_max, record.wrong);
    free(record.response);
    return record.wrong ? 1 : 0;
}
