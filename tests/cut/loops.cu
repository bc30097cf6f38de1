/*
 * Loops that wait for other blocks (waits_...) and loops that do not (ends_...). loops.ptx is what
 * nvcc makes of them (see make-loops); test_waits.c expects each name's verdict, and runs some of
 * the ends_ kernels in pieces.
 *
 * Three kernels end by themselves and yet count as waiting, because the analysis does not prove it:
 * a lock that is always released, a work queue whose ticket goes through shared memory, and an
 * insertion into a hash table that has room.
 */
extern "C" {
/* One flag, in every way to look at it. */
__global__ void waits_volatile(volatile int *flag, int *out)
{
    if (blockIdx.x == 0)
        flag[0] = 1;
    else
        while (flag[0] == 0)
            ;
    out[blockIdx.x] = 1;
}
__global__ void waits_plain(int *flag, int *out)
{
    if (blockIdx.x == 0)
        flag[0] = 1;
    else
        while (flag[0] == 0)
            __threadfence();
    out[blockIdx.x] = 1;
}
__global__ void waits_atomic(int *flag, int *out)
{
    if (blockIdx.x == 0)
        atomicExch(flag, 1);
    else
        while (atomicAdd(flag, 0) == 0)
            ;
    out[blockIdx.x] = 1;
}
/* One thread looks and tells the others through shared memory, by control flow only. */
__global__ void waits_shared(volatile int *flag, int *out)
{
    __shared__ int done;

    if (threadIdx.x == 0)
        done = 0;
    __syncthreads();
    while (!done) {
        if (threadIdx.x == 0 && *flag)
            done = 1;
        __syncthreads();
    }
    out[blockIdx.x] = 1;
}
/* The exit's own condition has nothing to do with the flag; whether it is reached has. */
__global__ void waits_behind_a_branch(volatile int *flag, int n, int *out)
{
    for (;;) {
        if (*flag) {
            out[1] += 1;
            if (n > 5)
                break;
            __threadfence_block();
        }
    }
    out[blockIdx.x] = 1;
}
__global__ void waits_ticket_lock(unsigned *next, volatile unsigned *serving, int *out)
{
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(next, 1);

        while (*serving != mine)
            ;
        out[0]++;
        __threadfence();
        *serving = mine + 1;
    }
}
__global__ void waits_lock(int *lock, int *out)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        out[0]++;
        __threadfence();
        atomicExch(lock, 0);
    }
}
/* A scan that looks back at the blocks before it. */
__global__ void waits_lookback(volatile int *status, volatile int *sum, int *out)
{
    int total = 0;

    sum[blockIdx.x] = blockIdx.x;
    __threadfence();
    status[blockIdx.x] = 1;
    for (int i = (int)blockIdx.x - 1; i >= 0;) {
        int seen = status[i];

        if (seen == 0)
            continue;
        total += sum[i];
        if (seen == 2)
            break;
        i--;
    }
    out[blockIdx.x] = total;
    __threadfence();
    status[blockIdx.x] = 2;
}
__global__ void waits_queue(int *head, volatile int *tail, int *items, int *out)
{
    for (;;) {
        int i = atomicAdd(head, 1);

        while (i >= *tail)
            ;
        if (items[i] < 0)
            break;
        out[i] = items[i];
    }
}
__global__ void waits_in_inner_loop(volatile int *flags, int n, int *out)
{
    for (int i = 0; i < n; i++) {
        while (flags[i] == 0)
            ;
        out[i]++;
    }
}
/* Every inner loop is counted; the outer one waits. */
__global__ void waits_for_all(volatile int *flags, int n, int *out)
{
    bool all;

    do {
        all = true;
        for (int i = 0; i < n; i++)
            all &= flags[i] != 0;
    } while (!all);
    out[blockIdx.x] = 1;
}
__global__ void waits_volatile_root(volatile int *parent, int *out)
{
    int v = threadIdx.x;

    while (parent[v] != v)
        v = parent[v];
    out[threadIdx.x] = v;
}
/* Ends by itself, not proved: the ticket goes through shared memory. */
__global__ void waits_queue_in_shared(int *next, int n, const int *in, int *out)
{
    __shared__ int i;

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            i = atomicAdd(next, 1);
        __syncthreads();
        if (i >= n)
            break;
        out[i] = in[i] * 2;
    }
}
/* Ends by itself if the table has room, not proved. */
__global__ void waits_hash_insert(unsigned *table, unsigned mask, const unsigned *keys)
{
    unsigned key = keys[blockIdx.x * blockDim.x + threadIdx.x];

    for (unsigned slot = key;; slot++) {
        unsigned old = atomicCAS(&table[slot & mask], 0, key);

        if (old == 0 || old == key)
            break;
    }
}

/*
 * Compare and swap until it finds what was read last: while nothing else writes, the second round
 * succeeds, whatever other blocks have done before.
 */
__global__ void ends_cas_add(double *p, double x)
{
    unsigned long long *at = (unsigned long long *)p, old = *at, seen;

    do {
        seen = old;
        old = atomicCAS(at, seen, __double_as_longlong(x + __longlong_as_double(seen)));
    } while (seen != old);
}
__global__ void ends_cas_max(float *p, const float *in)
{
    int *at = (int *)p;
    int old = *at;
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];

    while (value > __int_as_float(old)) {
        int seen = old;

        old = atomicCAS(at, seen, __float_as_int(value));
        if (old == seen)
            break;
    }
}
/* The loop's own addition brings the counter to its end. */
__global__ void ends_work_queue(int *next, int n, const int *in, int *out)
{
    int i;

    while ((i = atomicAdd(next, 1)) < n)
        out[i] = in[i] * 2;
}
/* The last block adds up: it looks once, and waits for nothing. */
__global__ void ends_last_block(unsigned *count, float *part, float *out)
{
    __shared__ bool last;

    if (threadIdx.x == 0)
        part[blockIdx.x] = blockIdx.x;
    __threadfence();
    if (threadIdx.x == 0)
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;

        for (unsigned i = 0; i < gridDim.x; i++)
            sum += part[i];
        *out = sum;
    }
}
/* Gives up after a count. In pieces it would always give up. */
__global__ void waits_up_to_a_count(volatile int *flag, int *out)
{
    int i = 0;

    while (!*flag && i < 1000)
        i++;
    out[blockIdx.x] = i;
}
__global__ void ends_sum_of_flags(volatile int *flags, int n, int *out)
{
    int seen = 0;

    for (int i = 0; i < n; i++)
        seen += flags[i];
    out[blockIdx.x] = seen;
}
/* Plain memory: lists, rows, bisections, trees, heaps, strides. Every round moves on. */
__global__ void ends_list(int *next, int *out)
{
    int n = 0, i = threadIdx.x;

    while (i >= 0) {
        i = next[i];
        n++;
    }
    out[threadIdx.x] = n;
}
__global__ void ends_rows(int *row, int *column, int *out)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;

    for (int j = row[r]; j < row[r + 1]; j++)
        out[r] += column[j];
}
__global__ void ends_bisection(int *a, int n, int *keys, int *out)
{
    int key = keys[threadIdx.x], low = 0, high = n;

    while (low < high) {
        int middle = (low + high) / 2;

        if (a[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    out[threadIdx.x] = low;
}
__global__ void ends_root(int *parent, int *out)
{
    int v = threadIdx.x;

    while (parent[v] != v)
        v = parent[v];
    out[threadIdx.x] = v;
}
__global__ void ends_heap(int *heap, int n)
{
    int i = threadIdx.x;

    while (2 * i + 1 < n) {
        int child = 2 * i + 1, kept;

        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[i] >= heap[child])
            break;
        kept = heap[i];
        heap[i] = heap[child];
        heap[child] = kept;
        i = child;
    }
}
__global__ void ends_grid_stride(int *in, int *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (in[i] == 42) {
            out[0] = i;
            break;
        }
        out[i] = in[i];
    }
}
/* Time passes without other blocks. */
__global__ void ends_by_clock(long long n, int *out)
{
    long long begin = clock64();

    while (clock64() - begin < n)
        ;
    out[blockIdx.x] = 1;
}
__global__ void ends_breadth_first(int *frontier, int *next, int *edges, int *first, int *levels, int *count)
{
    int v = frontier[blockIdx.x];

    for (int e = first[v] + threadIdx.x; e < first[v + 1]; e += blockDim.x) {
        int u = edges[e];

        if (atomicCAS(&levels[u], -1, levels[v] + 1) == -1)
            next[atomicAdd(count, 1)] = u;
    }
}
}
