/*
 * Fig. 11: three programs without priorities, started one after the other in each of the six
 * orders. Measured is their pending time together, in order of arrival and under the policy
 * `adaptive`. A program's pending time is its response minus its response alone. The latter is
 * measured anew for every pair of runs. On a shared host mmul alone takes 35 ms in one minute and
 * 60 in the next.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "figure.h"
#include "gpes.h"

enum { PROGRAMS = 3, ORDERS = 6, ROUNDS = 7, APART_MS = 3 };

static const struct gpes_program programs[PROGRAMS] = {{"mmul", 448}, {"srad", 512}, {"nn", 2097152}};
static const unsigned orders[ORDERS][PROGRAMS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                  {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void pause_ms(long ms)
{
    const struct timespec wait = {.tv_nsec = ms * 1000000L};

    (void)nanosleep(&wait, NULL);
}

static void start_waiting(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                          struct gpes_program program, const char *gate)
{
    char size[32];
    const char *options[] = {"--json",     "--unchecked", "--period", "100000", "--jobs",     "1",
                             "--wait-for", gate,          "--size",   size,     program.name, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    gpes_begin(gpes, run, how, gpes->api->workloads, options);
    if (!stage_await(run, "ready", 60000)) {
        fprintf(stderr, "%s did not start\n", program.name);
        exit(3);
    }
}

static void open_gate(const char *gate)
{
    (void)close(open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static double response_of(struct stage_program *run, const char *name)
{
    double ms[1] = {NAN};

    if (stage_end(run, 0) != 0 || stage_responses(run, ms, 1) != 1) {
        fprintf(stderr, "%s failed\n", name);
        exit(3);
    }
    return ms[0];
}

/* The responses of the three, each with the machine to itself and plain, ms; returns their sum. */
static double run_alone(struct gpes *gpes, double ret_alone[])
{
    static const struct stage_how plain = {.quiet = true, .realtime = true};
    double together = 0;

    for (unsigned i = 0; i < PROGRAMS; i++) {
        struct stage_program run = {0};
        start_waiting(gpes, &run, &plain, programs[i], "/dev/null");
        together += ret_alone[i] = response_of(&run, programs[i].name);
    }
    return together;
}

/* One run of the three, each a little after the other: the sum of what they waited, ms. */
static double run_order(struct gpes *gpes, const struct stage_how *how, const unsigned order[],
                        const double alone[])
{
    struct stage_program runs[PROGRAMS] = {0};
    char gates[PROGRAMS][160];
    double pending = 0;

    for (unsigned i = 0; i < PROGRAMS; i++) {
        (void)snprintf(gates[i], sizeof gates[i], "%s/gate.%u", gpes->stage.folder, i);
        (void)unlink(gates[i]);
        start_waiting(gpes, &runs[i], how, programs[order[i]], gates[i]);
    }
    for (unsigned i = 0; i < PROGRAMS; i++) {
        open_gate(gates[i]);
        pause_ms(APART_MS);
    }
    for (unsigned i = 0; i < PROGRAMS; i++)
        pending += fmax(0, response_of(&runs[i], programs[order[i]].name) - alone[order[i]]);
    return pending;
}

/* Which of the two waits less, if their spreads tell. */
static const char *difference_of(const struct gpes_range pending[2], size_t rounds)
{
    if (rounds < 2)
        return "not measurable: one round";
    if (pending[0].least > pending[1].most)
        return "adaptive waits less";
    return pending[1].least > pending[0].most ? "fifo waits less" : "not measurable: they overlap";
}

/* One order over all rounds, under fifo and adaptive; prints its row. */
static void measure_order(struct gpes *gpes, const unsigned order[], const char *name,
                          struct gpes_range ret_pending[2])
{
    static const struct stage_how in_order = {.baton = true, .quiet = true, .realtime = true};
    static const struct stage_how adaptive = {
        .baton = true, .adaptive = true, .quiet = true, .realtime = true};
    size_t rounds = gpes->quick ? 1 : ROUNDS;
    double sums[2][ROUNDS];

    for (size_t round = 0; round < rounds; round++) {
        double alone[PROGRAMS];
        double together = run_alone(gpes, alone);
        for (size_t i = 0; i < 2; i++) {
            size_t k = (i + round) % 2; /* they take turns at going first */
            stage_daemon_start(&gpes->stage, k ? "priority" : "fifo", k ? "adaptive" : NULL);
            sums[k][round] = run_order(gpes, k ? &adaptive : &in_order, order, alone) / together;
            stage_daemon_stop(&gpes->stage);
        }
    }
    for (size_t k = 0; k < 2; k++)
        ret_pending[k] = gpes_range_of(sums[k], rounds);
    printf("  %-18s %-7s", name, gpes->api->name);
    for (size_t k = 0; k < 2; k++)
        printf("   %.1f to %.1f", ret_pending[k].least, ret_pending[k].most);
    printf("   %s\n", difference_of(ret_pending, rounds));
    (void)fflush(stdout);
}

/* How much less is waited under adaptive, and by the spread of both, in %. */
static void tell_difference(const struct gpes *gpes, const struct gpes_range pending[2])
{
    figure_of(gpes->api->figures, "orders", NULL, 100 * (1 - pending[1].median / pending[0].median),
              100 * (1 - pending[1].most / pending[0].least), 100 * (1 - pending[1].least / pending[0].most));
}

void gpes_orders(struct gpes *gpes)
{
    static char names[ORDERS][48];
    static struct gpes_range pending[GPES_APIS][ORDERS][2];
    double values[ORDERS * 2];
    const char *labels[ORDERS];
    size_t n_orders = gpes->quick ? 2 : ORDERS;

    printf("\nFig. 11: no priorities, three programs; pending time of all / time of all alone, "
           "least to most of %d\n",
           gpes->quick ? 1 : ROUNDS);
    printf("  %-28s %-12s %-12s\n", "", "fifo", "adaptive");
    for (size_t o = 0; o < n_orders; o++) {
        (void)snprintf(names[o], sizeof names[o], "%s.%s.%s", programs[orders[o][0]].name,
                       programs[orders[o][1]].name, programs[orders[o][2]].name);
        labels[o] = names[o];
        for (size_t a = 0; a < gpes->n_apis; a++) {
            gpes->api = gpes->apis[a];
            measure_order(gpes, orders[o], names[o], pending[a][o]);
        }
    }
    printf("  GPES: mmul.srad.nn 53 %% less than Gdev; the best order a little more than Gdev, for the "
           "cutting\n");
    for (size_t a = 0; a < gpes->n_apis; a++) {
        gpes->api = gpes->apis[a];
        tell_difference(gpes, pending[a][0]);
        for (size_t i = 0; i < n_orders * 2; i++)
            values[i] = pending[a][i / 2][i % 2].median;
        gpes_draw_bars(gpes, "fig11", "Fig. 11: start orders without priorities",
                       "pending time / time of all alone", labels, n_orders,
                       (const char *const[]){"fifo", "adaptive"}, 2, values);
    }
}
