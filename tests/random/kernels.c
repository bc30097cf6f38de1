/* Kernels of many shapes, and what each of them leaves. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct launch {
    struct world *world;
    struct step step;
    const char *name;
    cl_kernel kernel;
    cl_uint n_args, dim;
    size_t offset[3], global[3], local[3];
    bool has_local;
};

static void begin(struct launch *launch, struct world *world, unsigned program, const char *name)
{
    cl_int code;

    memset(launch, 0, sizeof *launch);
    launch->world = world;
    launch->step.world = world;
    launch->name = name;
    launch->kernel = clCreateKernel(world->stage->programs[program], name, &code);
    must(world, code, name);
    launch->dim = 1;
}

static void arg(struct launch *launch, size_t size, const void *value)
{
    must(launch->world, clSetKernelArg(launch->kernel, launch->n_args++, size, value), "clSetKernelArg");
}

static void arg_uint(struct launch *launch, cl_uint value)
{
    arg(launch, sizeof value, &value);
}

/* A buffer argument, of whose bytes [begin, begin + size) from the view's beginning are used. */
static cl_uint *arg_mem(struct launch *launch, const struct view *view, size_t begin, size_t size,
                        bool writes)
{
    arg(launch, sizeof view->mem, &view->mem);
    launch->step.touches[launch->step.n_touches++] =
        (struct touch){view, view->begin + begin, view->begin + begin + size, writes};
    return (cl_uint *)(void *)bytes_of(launch->world, view);
}

/* One dimension of n items; a local size that divides it, or none. */
static void line(struct launch *launch, size_t n, bool needs_local)
{
    size_t local = (size_t)1 << below(launch->world, 7);

    while (n % local)
        local /= 2;
    launch->global[0] = n;
    launch->local[0] = local;
    launch->has_local = needs_local || chance(launch->world, 70);
}

static void end(struct launch *launch)
{
    struct step *step = &launch->step;
    cl_int code;
    struct flying fresh = {.name = launch->name,
                           .local = launch->has_local ? launch->local[0] : 0,
                           .width =
                               launch->global[0] > launch->global[1] ? launch->global[0] : launch->global[1],
                           .moved = launch->offset[0] || launch->offset[1] || launch->offset[2]};

    keep_apart(launch->world, &fresh);
    step_begin(step);
    say(launch->world, "%s on queue %u, %zu x %zu x %zu from %zu, local %zu%s", launch->name, step->queue,
        launch->global[0], launch->global[1], launch->global[2], launch->offset[0], launch->local[0],
        launch->has_local ? "" : " (not said)");
    code = clEnqueueNDRangeKernel(step->handle, launch->kernel, launch->dim, launch->offset, launch->global,
                                  launch->has_local ? launch->local : NULL, STEP_WAITS(step));
    clReleaseKernel(launch->kernel);
    step_end(step, code, CL_COMMAND_NDRANGE_KERNEL, launch->name);
}

static size_t uints(const struct view *view)
{
    return view->size / 4;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Two views that do not share a byte; false: none found. */
static bool two_views(struct world *world, const struct view **a, const struct view **b)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        *a = any_view(world, 256);
        *b = any_view(world, 256);
        if ((*a)->root != (*b)->root || (*a)->begin + (*a)->size <= (*b)->begin ||
            (*b)->begin + (*b)->size <= (*a)->begin)
            return true;
    }
    return false;
}

/* How many items, odd more often than not. */
static size_t some(struct world *world, size_t most)
{
    size_t n = 1 + below(world, (unsigned)most);

    return chance(world, 50) && n > 64 ? n / 64 * 64 : chance(world, 30) ? most : n;
}

static void in_place(struct world *world)
{
    struct launch launch;
    const struct view *view = any_view(world, 256);
    size_t n = some(world, uints(view)), first = below(world, (unsigned)(uints(view) - n + 1));
    cl_uint k = below(world, 1000), *a;

    begin(&launch, world, 0, "in_place");
    a = arg_mem(&launch, view, first * 4, n * 4, true);
    arg_uint(&launch, k);
    line(&launch, n, false);
    launch.offset[0] = first;
    end(&launch);
    for (size_t i = first; i < first + n; i++)
        a[i] = a[i] * k + 1;
}

static void from_to(struct world *world, unsigned which)
{
    static const char *const names[] = {"scale",   "own_partly", "partly", "stencil",
                                        "scatter", "beyond",     "through"};
    struct launch launch;
    const struct view *from, *to;
    cl_uint k = below(world, 1000) * 2 + 1, *in, *out;
    size_t n, power = 2;

    if (!two_views(world, &from, &to))
        return;
    if (which < 2 && chance(world, 20))
        to = from; /* the same buffer twice, each item its own element */
    n = some(world, smaller(uints(from), uints(to)));
    while (power * 2 <= smaller(uints(from), uints(to)))
        power *= 2;
    n = which == 2 ? (n + 1) / 2 * 2 : which == 4 ? power : n;
    if (n > smaller(uints(from), uints(to)))
        n -= 2;
    if (which == 5)
        n = (n + 3) / 4 * 4 > smaller(uints(from), uints(to)) ? n / 4 * 4 : (n + 3) / 4 * 4;
    begin(&launch, world, 0, names[which]);
    in = arg_mem(&launch, from, 0, n * 4, false);
    out = arg_mem(&launch, to, 0, n * 4, true);
    if (which != 1 && which != 2 && which < 5)
        arg_uint(&launch, which == 0 ? k : (cl_uint)n);
    if (which == 4)
        arg_uint(&launch, k);
    line(&launch, which == 3 ? (n + 63) / 64 * 64 : n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++)
        if (which == 0)
            out[i] = in[i] * k + 7;
        else if (which == 1 && in[i] % 3 == 0)
            out[i] = in[i] + 5;
        else if (which == 2 && in[i] % 3 == 0)
            out[i ^ 1] = in[i];
        else if (which == 3)
            out[i] = in[i] + 3 * in[(i + 1) % n] + 5 * in[(i + n - 1) % n];
        else if (which == 4)
            out[(cl_uint)(i * k) & (n - 1)] = in[i] ^ (cl_uint)i;
        else if (which >= 5)
            out[i] = in[i] + (which == 5 ? 11 : 9);
}

static void grouped(struct world *world, unsigned which)
{
    static const char *const names[] = {"reduce", "reverse", "fetch"};
    struct launch launch;
    const struct view *from, *to;
    cl_uint *in, *out;
    size_t n, local;

    if (!two_views(world, &from, &to))
        return;
    n = some(world, smaller(uints(from), uints(to)));
    begin(&launch, world, which == 2, names[which]);
    line(&launch, n, true);
    local = launch.local[0];
    in = arg_mem(&launch, from, 0, n * 4, which == 1);
    out = which == 1 ? in : arg_mem(&launch, to, 0, which == 0 ? n / local * 4 : n * 4, true);
    if (which == 0)
        arg(&launch, local * 4, NULL);
    end(&launch);
    for (size_t base = 0; base < n; base += local) {
        cl_uint tile[64], sum = 0;

        memcpy(tile, in + base, local * 4);
        for (size_t l = 0; l < local; l++) {
            sum += tile[l];
            if (which == 1)
                out[base + l] = tile[local - 1 - l] + (cl_uint)(n / local);
            if (which == 2)
                out[base + l] = tile[(l + 1) % local];
        }
        if (which == 0)
            out[base / local] = sum;
    }
}

static void histogram(struct world *world)
{
    struct launch launch;
    const struct view *from, *to;
    cl_uint *in, *bins;
    size_t n;

    if (!two_views(world, &from, &to))
        return;
    n = some(world, uints(from));
    begin(&launch, world, 1, "histogram");
    in = arg_mem(&launch, from, 0, n * 4, false);
    bins = arg_mem(&launch, to, 0, 256, true);
    line(&launch, n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++)
        bins[in[i] % 64] += 1 + in[i];
}

static void transpose(struct world *world)
{
    struct launch launch;
    const struct view *from, *to;
    cl_uint *in, *out;
    size_t n = 1;

    if (!two_views(world, &from, &to))
        return;
    while ((n + 1) * (n + 1) <= smaller(uints(from), uints(to)))
        n++;
    n = chance(world, 50) && n > 8 ? n / 8 * 8 : n;
    begin(&launch, world, 1, "transpose");
    in = arg_mem(&launch, from, 0, n * n * 4, false);
    out = arg_mem(&launch, to, 0, n * n * 4, true);
    arg_uint(&launch, (cl_uint)n);
    line(&launch, n, false);
    launch.dim = 2;
    launch.global[1] = n;
    launch.local[1] = n % 2 ? 1 : 2;
    end(&launch);
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            out[x * n + y] = in[y * n + x];
}

static cl_uint where_value(const struct launch *launch, const size_t id[3])
{
    size_t value = 19 * (id[0] % launch->local[0]) + 23 * (launch->global[1] / launch->local[1]) +
                   29 * launch->local[2] + 31 * (size_t)launch->dim;
    static const size_t by_id[3] = {1, 3, 7}, by_group[3] = {11, 13, 17};

    for (int d = 0; d < 3; d++)
        value += by_id[d] * (id[d] + launch->offset[d]) + by_group[d] * (id[d] / launch->local[d]);
    return (cl_uint)value;
}

static void where(struct world *world)
{
    struct launch launch;
    const struct view *view = any_view(world, 256);
    size_t n = uints(view), id[3];
    cl_uint *out;

    begin(&launch, world, 1, "where");
    launch.dim = 1 + below(world, 3);
    launch.has_local = true;
    for (cl_uint d = 0; d < 3; d++) {
        launch.local[d] = launch.global[d] = 1;
        if (d >= launch.dim)
            continue;
        launch.global[d] = 1 + below(world, (unsigned)smaller(n, d == 0 ? 64 : 20));
        launch.offset[d] = below(world, 5);
        n /= launch.global[d];
        for (size_t local = 1 + below(world, 8); local > 1; local--)
            if (launch.global[d] % local == 0) {
                launch.local[d] = local;
                break;
            }
    }
    out = arg_mem(&launch, view, 0, launch.global[0] * launch.global[1] * launch.global[2] * 4, true);
    end(&launch);
    for (id[2] = 0; id[2] < launch.global[2]; id[2]++)
        for (id[1] = 0; id[1] < launch.global[1]; id[1]++)
            for (id[0] = 0; id[0] < launch.global[0]; id[0]++)
                out[(id[2] * launch.global[1] + id[1]) * launch.global[0] + id[0]] = where_value(&launch, id);
}

static void pairs(struct world *world)
{
    struct launch launch;
    const struct view *table, *to;
    cl_uint k[2] = {below(world, 1000), below(world, 1000)}, *out, *in;
    size_t n;

    if (!two_views(world, &table, &to))
        return;
    n = some(world, uints(to) / 2);
    begin(&launch, world, 1, "pairs");
    out = arg_mem(&launch, to, 0, n * 8, true);
    arg(&launch, sizeof k, k);
    in = arg_mem(&launch, table, 0, 64, false);
    line(&launch, n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = k[0] * (cl_uint)i + in[i % 16];
        if (i % 2)
            out[2 * i + 1] = k[1];
    }
}

static void small(struct world *world)
{
    struct launch launch;
    const struct view *from, *to;
    unsigned char *in, *out;
    size_t n;

    if (!two_views(world, &from, &to))
        return;
    n = some(world, smaller(from->size, to->size) / 4) * 4;
    begin(&launch, world, 1, "small");
    in = (unsigned char *)arg_mem(&launch, from, 0, n, false);
    out = (unsigned char *)arg_mem(&launch, to, 0, n, true);
    line(&launch, n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++)
        out[i ^ 3] = (unsigned char)(in[i] * 3 + 1);
}

static void agree(struct world *world)
{
    struct launch launch;
    const struct view *from, *to;
    cl_uint k = below(world, 1000), *in, *flag;
    size_t n;

    if (!two_views(world, &from, &to))
        return;
    n = some(world, uints(from));
    begin(&launch, world, 1, "agree");
    in = arg_mem(&launch, from, 0, n * 4, false);
    flag = arg_mem(&launch, to, 0, 4, true);
    arg_uint(&launch, k);
    line(&launch, n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++)
        if (in[i] % 4 == 1)
            *flag = k;
}

static void wide(struct world *world)
{
    struct launch launch;
    const struct view *view = any_view(world, 256);
    size_t n = some(world, uints(view) / 4), first = below(world, (unsigned)(uints(view) / 4 - n + 1));
    cl_ulong k = random_u64(&world->random);
    cl_uint *a;

    begin(&launch, world, 1, "wide");
    a = arg_mem(&launch, view, first * 16, n * 16, true);
    arg(&launch, sizeof k, &k);
    line(&launch, n, false);
    launch.offset[0] = first;
    end(&launch);
    for (cl_uint *v = a + 4 * first; v < a + 4 * (first + n); v += 4) {
        cl_uint x = v[0];

        v[0] = v[1] + (cl_uint)k;
        v[1] = v[2] + (cl_uint)(k >> 32);
        v[2] = v[3] + 1;
        v[3] = x + 2;
    }
}

static void two(struct world *world)
{
    struct launch launch;
    const struct view *one, *other;
    cl_uint k = below(world, 1000), *a, *b;
    size_t n;

    if (!two_views(world, &one, &other))
        return;
    n = some(world, smaller(uints(one), uints(other)));
    begin(&launch, world, 1, "two");
    a = arg_mem(&launch, one, 0, n * 4, true);
    b = arg_mem(&launch, other, 0, n * 4, true);
    arg_uint(&launch, k);
    line(&launch, n, false);
    end(&launch);
    for (size_t i = 0; i < n; i++) {
        cl_uint v = a[i];

        a[i] = b[n - 1 - i] + k;
        b[n - 1 - i] = v;
    }
}

static void with_image(struct world *world, bool paints)
{
    static const char *const names[] = {"picture", "paint"};
    struct launch launch;
    unsigned which = ROOTS + below(world, IMAGES);
    struct view image = {world->roots[which].mem, which, 0, world->roots[which].size};
    const struct view *view = any_view(world, image.size);
    cl_sampler sampler = NULL;
    cl_uint *pixels, *values;
    cl_int code;

    if (!view || view->size < image.size)
        return;
    begin(&launch, world, 1, names[paints]);
    pixels = arg_mem(&launch, &image, 0, image.size, paints);
    if (!paints) {
        sampler = clCreateSampler(world->stage->context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE,
                                  CL_FILTER_NEAREST, &code);
        must(world, code, "clCreateSampler");
        arg(&launch, sizeof sampler, &sampler);
    }
    values = arg_mem(&launch, view, 0, image.size, !paints);
    line(&launch, WIDTH, false);
    launch.dim = 2;
    launch.global[1] = image.size / 4 / WIDTH;
    launch.local[1] = 1;
    end(&launch);
    if (sampler)
        clReleaseSampler(sampler);
    memcpy(paints ? pixels : values, paints ? values : pixels, image.size);
}

/* --- what a driver without a compiler has --- */

static void scale_in_place(struct world *world)
{
    struct launch launch;
    const struct view *view = any_view(world, 256);
    size_t n = some(world, uints(view)), first = below(world, (unsigned)(uints(view) - n + 1));
    cl_uint k = below(world, 1000), *a;

    begin(&launch, world, 0, "scale");
    a = arg_mem(&launch, view, first * 4, n * 4, true);
    arg_uint(&launch, k);
    line(&launch, n, true);
    launch.offset[0] = first;
    end(&launch);
    for (size_t i = first; i < first + n; i++)
        a[i] = a[i] * k + 1;
}

static void add(struct world *world)
{
    struct launch launch;
    const struct view *one, *to;
    cl_uint *a, *c;
    size_t n;

    if (!two_views(world, &one, &to))
        return;
    n = some(world, smaller(uints(one), uints(to)));
    begin(&launch, world, 0, "add");
    a = arg_mem(&launch, one, 0, n * 4, false);
    (void)arg_mem(&launch, one, 0, n * 4, false);
    c = arg_mem(&launch, to, 0, n * 4, true);
    line(&launch, n, true);
    end(&launch);
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + a[i];
}

void launch_random(struct world *world)
{
    unsigned which = below(world, 20);

    if (world->stage->plain && which < 10)
        scale_in_place(world);
    else if (world->stage->plain)
        add(world);
    else if (which < 2)
        in_place(world);
    else if (which < 9)
        from_to(world, which - 2);
    else if (which < 12)
        grouped(world, which - 9);
    else if (which < 14)
        with_image(world, which == 12);
    else if (which < 19)
        (void (*const[])(struct world *)){histogram, transpose, where, pairs, small}[which - 14](world);
    else
        (chance(world, 30) ? agree : chance(world, 50) ? wide : two)(world);
}
