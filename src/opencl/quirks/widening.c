#include "opencl/quirks/widening.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/quirks/nested_enqueue.h"
#include "opencl/quirks/quirks.h"

/*
 * The driver keeps 128 variants and drops the least recently used. After half as many new ones, a
 * width is not relied upon.
 */
enum { KEPT_BY_DRIVER = 64 };

struct widening {
    struct widening *next;
    char *kernel; /* owned */
    size_t local[3];
    size_t width;         /* of the widest piece; 0: none yet */
    unsigned long used;   /* value of front.widening.n_made at the latest use */
    unsigned entering;    /* pieces between quirks_launch_begin() and quirks_launch_end() */
    bool widest_entering; /* one of them is wider than all before */
};

/* A piece that the driver has. */
struct widening_flight {
    cl_event event; /* borrowed */
    struct widening *variant;
    cl_command_queue queue; /* NULL: out of order */
    bool widest;
};

static struct widening *find(const char *kernel, const size_t local[3])
{
    struct widening *variant = front.widening.variants;

    while (variant && (memcmp(variant->local, local, sizeof variant->local) != 0 ||
                       strcmp(variant->kernel, kernel) != 0))
        variant = variant->next;
    if (variant || !(variant = calloc(1, sizeof *variant)))
        return variant;
    variant->kernel = strdup(kernel);
    if (!variant->kernel) {
        free(variant);
        return NULL;
    }
    atomic_store_explicit(&front.widening.any, true, memory_order_relaxed);
    memcpy(variant->local, local, sizeof variant->local);
    variant->next = front.widening.variants;
    front.widening.variants = variant;
    return variant;
}

/* A piece in flight that must end before one of this width may begin; NULL: none. */
static const struct widening_flight *in_the_way(const struct widening *variant, size_t width,
                                                const struct queue_record *queue)
{
    for (size_t i = 0; i < front.widening.n_flights; i++)
        if (front.widening.flights[i].variant == variant &&
            (front.widening.flights[i].widest || width > variant->width) &&
            front.widening.flights[i].queue != queue->handle)
            return &front.widening.flights[i];
    return NULL;
}

static void remove_flight(cl_event event)
{
    for (size_t i = 0; i < front.widening.n_flights; i++) {
        if (front.widening.flights[i].event != event)
            continue;
        front.widening.flights[i] = front.widening.flights[--front.widening.n_flights];
        front.target.clReleaseEvent(event);
        return;
    }
}

static bool is_over(cl_event event)
{
    cl_int status = CL_COMPLETE;

    front.target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

/* With the lock held: forgets launches that have ended without quirks_over(). */
static void forget_ended(void)
{
    for (size_t i = front.widening.n_flights; i-- > 0;)
        if (is_over(front.widening.flights[i].event))
            remove_flight(front.widening.flights[i].event);
}

/* With the lock held, released meanwhile. */
static void wait_for(const struct widening_flight *flight)
{
    cl_event event = flight->event;

    front.target.clRetainEvent(event);
    pthread_mutex_unlock(&front.widening.lock);
    front.target.clWaitForEvents(1, &event);
    pthread_mutex_lock(&front.widening.lock);
    remove_flight(event);
    front.target.clReleaseEvent(event);
}

void quirks_launch_begin(const struct queue_record *queue, const char *kernel, cl_uint dim,
                         const size_t *local, const size_t *global, struct quirks_launch *ret_launch)
{
    size_t size[3] = {1, 1, 1}, width = 0;
    const struct widening_flight *flight;
    struct widening *variant;

    *ret_launch = (struct quirks_launch){.queue = queue};
    if (!quirks_have(&queue->device->quirks, QUIRK_WIDER_ALONE) ||
        nested_enqueue_nested()) /* the call that it is nested in cannot end first */
        return;
    for (cl_uint d = 0; d < dim; d++) {
        size[d] = local[d];
        width = global[d] > width ? global[d] : width;
    }
    pthread_mutex_lock(&front.widening.lock);
    variant = find(kernel, size);
    while (variant) {
        if (front.widening.n_made - variant->used >= KEPT_BY_DRIVER)
            variant->width = 0;
        if (variant->entering && (variant->widest_entering || width > variant->width))
            pthread_cond_wait(&front.widening.changed, &front.widening.lock);
        else if ((flight = in_the_way(variant, width, queue)))
            wait_for(flight);
        else
            break;
    }
    if (variant) {
        *ret_launch = (struct quirks_launch){variant, queue, width > variant->width};
        variant->entering++;
        if (ret_launch->widest) {
            variant->widest_entering = true;
            variant->width = width;
            front.widening.n_made++;
        }
        variant->used = front.widening.n_made;
    }
    pthread_mutex_unlock(&front.widening.lock);
}

/* With the lock held. */
static bool add_flight(const struct quirks_launch *use, cl_event event)
{
    if (front.widening.n_flights == front.widening.room)
        forget_ended();
    if (front.widening.n_flights == front.widening.room) {
        struct widening_flight *grown =
            realloc(front.widening.flights, (2 * front.widening.room + 16) * sizeof *front.widening.flights);

        if (!grown)
            return false;
        front.widening.flights = grown;
        front.widening.room = 2 * front.widening.room + 16;
    }
    front.widening.flights[front.widening.n_flights++] = (struct widening_flight){
        event, use->variant, use->queue->base.in_order ? use->queue->handle : NULL, use->widest};
    front.target.clRetainEvent(event);
    return true;
}

void quirks_launch_end(struct quirks_launch *use, cl_event event)
{
    struct widening *variant = use->variant;

    if (!variant)
        return;
    pthread_mutex_lock(&front.widening.lock);
    if (!event && use->widest)
        variant->width = 0; /* perhaps the driver made no variant */
    if (event && !add_flight(use, event)) {
        pthread_mutex_unlock(&front.widening.lock);
        front.target.clWaitForEvents(1, &event);
        pthread_mutex_lock(&front.widening.lock);
    }
    variant->entering--;
    if (use->widest)
        variant->widest_entering = false;
    pthread_cond_broadcast(&front.widening.changed);
    pthread_mutex_unlock(&front.widening.lock);
}

void quirks_over(cl_event event)
{
    if (!atomic_load_explicit(&front.widening.any, memory_order_relaxed))
        return;
    pthread_mutex_lock(&front.widening.lock);
    remove_flight(event);
    pthread_mutex_unlock(&front.widening.lock);
}
