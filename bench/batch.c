/*
 * How long a prediction takes, by every method, with the routes found anew each time. The batch has
 * the 4 streams of Verner et al., Table 2 (Sandy Bridge, host to device). Medians of many rounds
 * with the 10th and 90th percentile; ratios to `aligned` within this run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "figure.h"
#include "transfer/batch.h"

#define ROUNDS   101
#define IN_ROUND 200

static const char topology_text[] = "links: [{from: MEM0, to: CARD0, gbps: 12.0641}, {from: CARD0, to: GPU0, "
                                    "gbps: 11.681}, {from: CARD0, to: GPU1, gbps: "
                                    "11.681}, {from: MEM0, to: CARD1, gbps: 11.9837}, {from: CARD1, to: "
                                    "GPU2, gbps: 11.9837}, {from: CARD1, to: GPU3, "
                                    "gbps: 11.9837}]";
static const char batch_text[] = "streams: [{from: MEM0, to: GPU0, bytes: 256 MiB, kernel_ms: 10}, {from: "
                                 "MEM0, to: GPU1, bytes: 128 MiB, kernel_ms: "
                                 "10}, {from: MEM0, to: GPU2, bytes: 64 MiB, kernel_ms: 10}, {from: MEM0, "
                                 "to: GPU3, bytes: 32 MiB, kernel_ms: 10}]";

static int compare_double(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

struct subject {
    const struct topology *topology;
    const struct batch_file *file;
};

/* One prediction; method NULL: the bound. */
static baton_nsec predict(const struct subject *subject, const struct batch_method *method)
{
    struct batch_timeline timeline;
    struct batch batch;
    baton_nsec bound = 0;
    size_t unresolved;

    if (batch_resolve(subject->topology, subject->file->streams, subject->file->n_streams, NULL, &batch,
                      &unresolved))
        return -1;
    if (!method)
        return batch_bound(&batch, &bound) ? -1 : bound;
    return batch_predict(&batch, method, &timeline, NULL) ? -1 : timeline.total;
}

static double measure(const struct subject *subject, const struct batch_method *method, const char *name,
                      double base)
{
    double us[ROUNDS];
    baton_nsec total = 0;

    for (size_t r = 0; r < ROUNDS; r++) {
        baton_nsec begin = clock_now();

        for (size_t i = 0; i < IN_ROUND; i++)
            total = predict(subject, method);
        us[r] = (double)(clock_now() - begin) / 1e3 / IN_ROUND;
    }
    qsort(us, ROUNDS, sizeof us[0], compare_double);
    printf("%-16s %8.2f us  [%.2f, %.2f]  %6.2f x aligned   predicts %.3f ms\n", name, us[ROUNDS / 2],
           us[ROUNDS / 10], us[ROUNDS * 9 / 10], base > 0 ? us[ROUNDS / 2] / base : 1, nsec_to_ms(total));
    if (!method || method == batch_methods[0])
        figure(method ? "batch-predict" : "batch-bound", us[ROUNDS / 2], us[ROUNDS / 10],
               us[ROUNDS * 9 / 10]);
    return us[ROUNDS / 2];
}

int main(void)
{
    struct input_error error;
    struct topology topology;
    struct batch_file file;
    struct subject subject = {&topology, &file};
    double aligned;

    if (topology_read("topology", topology_text, strlen(topology_text), &topology, &error) ||
        batch_read("batch", batch_text, strlen(batch_text), &topology, &file, &error))
        return EXIT_FAILURE;
    printf("one prediction of a 4-stream batch, routes included; median [p10, p90] of %d x %d\n", ROUNDS,
           IN_ROUND);
    aligned = measure(&subject, batch_methods[0], batch_methods[0]->name, 0);
    for (size_t m = 1; batch_methods[m]; m++)
        measure(&subject, batch_methods[m], batch_methods[m]->name, aligned);
    measure(&subject, NULL, "LP bound alone", aligned);
    batch_file_done(&file);
    topology_done(&topology);
    return EXIT_SUCCESS;
}
