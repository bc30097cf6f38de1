/*
 * Fig. 11: three programs without priorities, started one after the other in each of the six orders: their pending time together, in
 * order of arrival and under the policy `adaptive`. A program's pending time is its response minus its response alone.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "figure.h"
#include "gpes.h"

enum { PROGRAMS = 3, ORDERS = 6, ROUNDS = 5, APART_MS = 3 };

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
    const char *argv[] = {"tests/workloads/workloads",
                          "--json",
                          "--unchecked",
                          "--period",
                          "100000",
                          "--jobs",
                          "1",
                          "--wait-for",
                          gate,
                          "--size",
                          size,
                          program.name,
                          NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    stage_start(&gpes->stage, run, how, argv);
    if (!stage_await(run, "ready", 60000)) {
        fprintf(stderr, "%s did not start\n", program.name);
        exit(3);
    }
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
        (void)close(open(gates[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        pause_ms(APART_MS);
    }
    for (unsigned i = 0; i < PROGRAMS; i++) {
        double ms[1] = {NAN};
        if (stage_end(&runs[i], 0) != 0 || stage_responses(&runs[i], ms, 1) != 1) {
            fprintf(stderr, "%s failed\n", programs[order[i]].name);
            exit(3);
        }
        pending += fmax(0, ms[0] - alone[order[i]]);
    }
    return pending;
}

void gpes_orders(struct gpes *gpes)
{
    static const struct stage_how in_order = {.baton = true, .quiet = true, .realtime = true};
    static const struct stage_how adaptive = {
        .baton = true, .adaptive = true, .quiet = true, .realtime = true};
    static char names[ORDERS][48];
    const char *labels[ORDERS];
    double alone[PROGRAMS];
    double together = 0;
    double values[ORDERS * 2];
    size_t rounds = gpes->quick ? 1 : ROUNDS;
    size_t n_orders = gpes->quick ? 2 : ORDERS;

    for (size_t i = 0; i < PROGRAMS; i++)
        together += alone[i] = gpes_alone_ms(gpes, programs[i]);
    printf("\nFig. 11: no priorities, three programs (alone %.1f, %.1f, %.1f ms); pending time of all / %.1f "
           "ms, median [least, "
           "most] of %zu\n",
           alone[0], alone[1], alone[2], together, rounds);
    printf("  %-18s %-22s %-22s %s\n", "", "fifo", "adaptive", "difference");
    for (size_t o = 0; o < n_orders; o++) {
        double sums[2][ROUNDS];
        double *median = &values[o * 2];
        for (size_t round = 0; round < rounds; round++)
            for (size_t k = 0; k < 2; k++) {
                stage_daemon_start(&gpes->stage, k ? "priority" : "fifo", k ? "adaptive" : NULL);
                sums[k][round] = run_order(gpes, k ? &adaptive : &in_order, orders[o], alone) / together;
                stage_daemon_stop(&gpes->stage);
            }
        (void)snprintf(names[o], sizeof names[o], "%s.%s.%s", programs[orders[o][0]].name,
                       programs[orders[o][1]].name, programs[orders[o][2]].name);
        labels[o] = names[o];
        for (size_t k = 0; k < 2; k++)
            median[k] = stage_quantile(sums[k], rounds, 0.5);
        printf("  %-18s %.2f [%.2f, %.2f]      %.2f [%.2f, %.2f]      %+.2f\n", names[o], median[0],
               sums[0][0], sums[0][rounds - 1], median[1], sums[1][0], sums[1][rounds - 1],
               median[1] - median[0]);
        if (o == 0)
            figure("gpes-orders", 100 * (1 - median[1] / median[0]), 100 * (1 - median[1] / median[0]),
                   100 * (1 - median[1] / median[0]));
        (void)fflush(stdout);
    }
    printf("  GPES: mmul.srad.nn 53 %% less than Gdev; the best order a little more than Gdev, for the "
           "cutting\n");
    gpes_draw_bars(gpes, "fig11", "Fig. 11: start orders without priorities",
                   "pending time / time of all alone", labels, n_orders,
                   (const char *const[]){"fifo", "adaptive"}, 2, values);
}
