/*
 * Any bytes as a topology and as a batch: never a crash; what is accepted prints back and can be
 * predicted.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "transfer/batch.h"

static const char machine[] =
    "links: [{from: MEM0, to: HOST, gbps: 9}, {from: HOST, to: MEM0, gbps: 5}, {from: HOST, to: GPU0, gbps: "
    "6}, {from: GPU0, "
    "to: HOST, gbps: 4}, {from: HOST, to: GPU1, gbps: 6}, {from: GPU1, to: HOST, gbps: 4}]";

static void predict_all(const struct topology *topology, const struct batch_file *file)
{
    struct batch batch;
    baton_nsec bound;
    size_t unresolved;

    if (batch_resolve(topology, file->streams, file->n_streams, NULL, &batch, &unresolved) != 0 ||
        batch.n > 8)
        return;
    if (batch_bound(&batch, &bound) != 0)
        abort();
    for (size_t m = 0; batch_methods[m]; m++) {
        struct batch_timeline timeline;

        if (batch_predict(&batch, batch_methods[m], &timeline, NULL) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology topology;
    struct batch_file file;
    struct input_error error;

    if (topology_read("fuzz", (const char *)data, size, &topology, &error) == 0)
        topology_done(&topology);
    if (topology_read("machine", machine, sizeof machine - 1, &topology, &error) != 0)
        abort();
    if (batch_read("fuzz", (const char *)data, size, &topology, &file, &error) == 0) {
        predict_all(&topology, &file);
        batch_file_done(&file);
    }
    topology_done(&topology);
    return 0;
}
