#include "transfer/batch.h"

#include <errno.h>
#include <string.h>

#include "transfer/throughput.h"

const struct batch_method *const batch_methods[] = {
    &method_aligned, &method_paced, &method_bandwidth, &method_time_division, NULL,
};

static void take_engine(const struct topology *topology, struct batch_flow *flow, int node, bool out)
{
    const struct topology_node *at = &topology->nodes[node];
    unsigned engine = 2 * (unsigned)node + (out && at->engines == 2);

    /* a copy inside the memory of a GPU with one engine occupies that engine once */
    if (at->role == ROLE_GPU && !(flow->n_engines == 1 && flow->engines[0] == engine))
        flow->engines[flow->n_engines++] = engine;
}

size_t batch_chunk_bytes(size_t bytes)
{
    const size_t least = (size_t)256 << 10;
    const size_t most = (size_t)4 << 20;
    size_t chunk = bytes / 32;

    chunk = chunk < least ? least : chunk > most ? most : chunk;
    return chunk / 4096 * 4096;
}

/*
 * Counts a copy in bytes at the rates of links and table: as one command, in chunks, or in the
 * pieces of its staging.
 */
static void count_bytes(const struct topology *topology, const struct batch_stream *stream,
                        struct batch_flow *flow)
{
    double raw = (double)stream->bytes;
    double stage = (double)BATCH_STAGE_BYTES;
    double whole_ratio;

    flow->copied = raw;
    flow->chunk_ratio = whole_ratio = 1;
    if (flow->stage >= 0)
        flow->copied += raw < stage ? raw : stage;
    if (topology->n_sizes > 0) {
        double chunk = flow->stage >= 0 ? stage : (double)batch_chunk_bytes((size_t)stream->bytes);

        whole_ratio = topology_size_ratio(topology, flow->stage >= 0 && raw > stage ? stage : raw);
        flow->chunk_ratio = topology_size_ratio(topology, raw < chunk ? raw : chunk);
    }
    flow->bytes = flow->copied / whole_ratio;
    flow->paced = flow->copied / flow->chunk_ratio;
}

static int find_pair(const struct topology *topology, int from, int to)
{
    for (size_t i = 0; i < topology->n_pairs; i++) {
        if (topology->pairs[i].from == (unsigned)from && topology->pairs[i].to == (unsigned)to)
            return (int)i;
    }
    return -1;
}

static int resolve_copy(struct batch *batch, const struct batch_stream *stream, struct batch_flow *flow)
{
    const struct topology *topology = batch->topology;
    struct found_route route;

    if (stream->from < 0 || stream->to < 0)
        return BATCH_BAD_STREAM;
    if (topology_find_route(topology, (unsigned)stream->from, (unsigned)stream->to, &route))
        return BATCH_NO_ROUTE;
    memcpy(flow->links, route.links, route.n_links * sizeof route.links[0]);
    flow->n_links = route.n_links;
    flow->stage = route.stage;
    flow->from = stream->from;
    flow->to = stream->to;
    count_bytes(topology, stream, flow);
    take_engine(topology, flow, stream->from, true);
    take_engine(topology, flow, stream->to, false);
    flow->pair = find_pair(topology, stream->from, stream->to);
    for (size_t i = 0; i < flow->n_links; i++) {
        const struct topology_link *link = &topology->links[flow->links[i]];

        batch->capacity[flow->links[i]] =
            (batch->worst_case ? link->lowest_gbps : link->gbps) / batch->derate;
    }
    return 0;
}

/*
 * Johnson's rule for a copy followed by a kernel. Streams with a copy shorter than the kernel go
 * first, by ascending copy; then the others, by descending kernel. All GPUs use one order, so that
 * streams with two engines cannot block each other in a cycle.
 */
static bool goes_before(const struct batch_flow *a, const struct batch_flow *b)
{
    double copy_a = a->bytes > 0 ? a->bytes / a->alone : 0;
    double copy_b = b->bytes > 0 ? b->bytes / b->alone : 0;
    bool first_a = copy_a <= a->kernel;
    bool first_b = copy_b <= b->kernel;

    if (first_a != first_b)
        return first_a;
    return first_a ? copy_a < copy_b : a->kernel > b->kernel;
}

static void sort_flows(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        size_t at = i;

        for (; at > 0 && goes_before(&batch->flows[i], &batch->flows[batch->order[at - 1]]); at--)
            batch->order[at] = batch->order[at - 1];
        batch->order[at] = i;
    }
}

int batch_resolve(const struct topology *topology, const struct batch_stream streams[], size_t n,
                  const struct batch_options *options, struct batch *ret_batch, size_t *ret_unresolved)
{
    struct batch *batch = ret_batch;

    *ret_unresolved = 0;
    if (n == 0 || n > BATCH_MAX_STREAMS)
        return BATCH_TOO_MANY;
    *batch = (struct batch){.topology = topology, .n = n};
    batch->worst_case = options && options->worst_case;
    batch->derate = 1 + (options ? options->margin : 0);
    batch->setup = (double)topology->setup * batch->derate;
    for (size_t i = 0; i < n; i++) {
        const struct batch_stream *stream = &streams[i];
        struct batch_flow *flow = &batch->flows[i];
        int result = 0;

        *flow = (struct batch_flow){.name = stream->name, .kernel = (double)stream->kernel};
        flow->gpu = stream->kernel > 0 ? stream->gpu : -1;
        flow->from = flow->to = flow->stage = flow->pair = -1;
        *ret_unresolved = i;
        if (stream->bytes < 0 || stream->kernel < 0 || (stream->bytes == 0 && stream->kernel == 0) ||
            (stream->kernel > 0 && (stream->gpu < 0 || topology->nodes[stream->gpu].role != ROLE_GPU ||
                                    (stream->bytes > 0 && stream->to != stream->gpu))))
            return BATCH_BAD_STREAM;
        if (stream->bytes > 0)
            result = resolve_copy(batch, stream, flow);
        if (result)
            return result;
        if (stream->bytes > 0)
            throughput_rates(batch, &i, 1, &flow->alone);
    }
    sort_flows(batch);
    return 0;
}

int batch_predict(const struct batch *batch, const struct batch_method *method,
                  struct batch_timeline *ret_timeline, struct pacing *ret_pacing)
{
    struct batch chunked;
    int result;

    if (!method->paces || batch->topology->n_sizes == 0)
        return method->predict(batch, ret_timeline, ret_pacing);
    chunked = *batch;
    for (size_t i = 0; i < batch->n; i++)
        chunked.flows[i].bytes = batch->flows[i].paced;
    result = method->predict(&chunked, ret_timeline, ret_pacing);
    for (size_t k = 0; !result && ret_pacing && k < ret_pacing->n_steps; k++) {
        for (size_t i = 0; i < batch->n; i++)
            ret_pacing->rate[k][i] *= batch->flows[i].bytes > 0 ? batch->flows[i].chunk_ratio : 1;
    }
    return result;
}
