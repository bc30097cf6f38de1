/*
 * Where a batch requests the interconnect before it begins (docs/protocols.md M2). One group
 * request covers all engines that it uses; they are held until the batch ends. The daemon adds
 * their buses. A session with the daemon implements the gate; without a session there is none.
 */
#ifndef CLIENT_BATCH_GATE_H
#define CLIENT_BATCH_GATE_H

#include <stddef.h>

enum gate_engine { GATE_EXECUTION, GATE_COPY_IN, GATE_COPY_OUT };

struct gate_request {
    struct {
        int device; /* index among the machine's OpenCL devices (topology: gpus, device) */
        enum gate_engine engine;
    } engines[3 * 64]; /* each once, ascending by device, then engine */
    size_t n_engines;
};

struct batch_gate {
    /*
     *  Blocks until all are held. 0, or -errno: then nothing is held and the batch ends with that
     *  error.
     */
    int (*take)(void *context, const struct gate_request *request);
    void (*release)(void *context, const struct gate_request *request);
    void *context;
};

struct baton_batcher;

/*
 * Sets the batcher's gate before the first batch is started. The gate is borrowed until the batcher
 * is freed.
 */
void batcher_set_gate(struct baton_batcher *batcher, const struct batch_gate *gate);

/* How many batches the daemon has granted their engines and buses, in one group request each. */
size_t batcher_granted(const struct baton_batcher *batcher);

#endif
