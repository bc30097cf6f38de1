/* The graphs of random_host.c: captured in one or two streams, with nodes of events. */
#include "cuda_abi/driver_calls.h"
#include "cuda_abi/graph_abi.h"
#include "cuda_abi/memory_calls.h"
#include "random_world.h"

/* The second stream takes part in the capture: a new one, or the thread's own. */
static void capture_add(int object, int other, CUstream stream)
{
    bool own = pick(2) == 0;
    CUstream second = CU_STREAM_PER_THREAD;
    CUevent out, back;

    if (!own)
        MUST(cuStreamCreate(&second, pick(2) ? CU_STREAM_NON_BLOCKING : 0));
    MUST(cuEventCreate(&out, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&back, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventRecord(out, stream));
    MUST(cuStreamWaitEvent(second, out, 0));
    launch_add(object, other, other, second);
    MUST(cuEventRecord(back, second));
    MUST(cuStreamWaitEvent(stream, back, 0));
    world.forked = own ? NULL : second; /* it may end when the capture has */
    MUST(cuEventDestroy_v2(out));
    MUST(cuEventDestroy_v2(back));
}

/* Captured in a stream of its own, or in two. */
static struct random_graph *capture_graph(void)
{
    struct random_graph *graph = &world.graphs[world.n_graphs++];
    int n = WORDS;
    CUstream stream;
    CUgraph captured;

    *graph = (struct random_graph){.object = pick(N_DEVICE),
                                   .other = pick(N_DEVICE),
                                   .value = pick(1000),
                                   .waits = pick(2) ? pick(N_EVENTS) : NONE,
                                   .records = pick(2) ? pick(N_EVENTS) : NONE};
    world.forked = NULL;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    if (graph->waits != NONE)
        MUST(cuStreamWaitEvent(stream, world.events[graph->waits], CU_EVENT_WAIT_EXTERNAL));
    MUST(cuLaunchKernel(world.fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                        (void *[]){&world.device[graph->object], &n, &graph->value}, NULL));
    if (pick(2))
        capture_add(graph->object, graph->other, stream);
    else
        launch_add(graph->object, graph->other, graph->other, stream);
    if (graph->records != NONE)
        MUST(cuEventRecordWithFlags(world.events[graph->records], stream, CU_EVENT_RECORD_EXTERNAL));
    MUST(cuStreamEndCapture(stream, &captured));
    MUST(cuGraphInstantiateWithFlags(&graph->exec, captured, 0));
    MUST(cuGraphDestroy(captured));
    MUST(cuStreamDestroy_v2(stream));
    if (world.forked)
        MUST(cuStreamDestroy_v2(world.forked));
    return graph;
}

/* A new graph, or one that was launched before in any lane. */
static const struct random_graph *find_graph(void)
{
    const struct random_graph *graph = world.n_graphs ? &world.graphs[pick((int)world.n_graphs)] : NULL;

    return graph && !graph->ended && pick(3) ? graph : capture_graph();
}

/* The lane may use the object: the node waits for its last user, if nothing else orders them. */
static void use_by_node(const struct random_graph *graph, int lane)
{
    int last = world.last[graph->object];

    if (graph->waits == NONE || last < 0 || is_ordered(last, lane) || pick(4) == 0) {
        use(graph->object, lane);
        return;
    }
    MUST(cuEventRecord(world.events[graph->waits], world.lanes[last]));
    world.last[graph->object] = lane;
}

/* What the graph used is the host's, or another lane's, behind the event that the graph records. */
static void hand_over(const struct random_graph *graph)
{
    CUevent event = world.events[graph->records];
    int next = pick(N_LANES);

    switch (pick(4)) {
    case 0:
        MUST(cuEventSynchronize(event));
        next = NONE;
        break;
    case 1:
        MUST(cuCtxWaitEvent(world.context, event));
        break;
    default:
        MUST(cuStreamWaitEvent(world.lanes[next], event, 0));
        break;
    }
    world.last[graph->object] = world.last[graph->other] = next;
}

void op_graph(int lane)
{
    const struct random_graph *graph = find_graph();

    use(graph->other, lane);
    use_by_node(graph, lane); /* last: an event's record is the newest until the launch */
    MUST(cuGraphLaunch(graph->exec, world.lanes[lane]));
    set_model(graph->object, graph->value);
    for (int i = 0; i < WORDS; i++)
        world.model[graph->other][i] += world.model[graph->object][i];
    if (graph->records != NONE && pick(3))
        hand_over(graph);
}

/* Launches that name the event may be under way. */
void op_new_event(int lane)
{
    int event = pick(N_EVENTS);

    (void)lane;
    for (unsigned i = 0; i < world.n_graphs; i++)
        if (world.graphs[i].waits == event || world.graphs[i].records == event)
            world.graphs[i].ended = true;
    MUST(cuEventDestroy_v2(world.events[event]));
    MUST(cuEventCreate(&world.events[event], 0));
}
