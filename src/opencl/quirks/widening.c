#include "opencl/quirks/widening.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/layer.h"
#include "opencl/objects.h"
#include "opencl/quirks/crossing.h"
#include "opencl/quirks/quirks.h"

/* The driver keeps 128 variants and drops the one used longest ago: after so many new ones a width is no longer relied upon. */
enum { KEPT_BY_DRIVER = 64 };

struct widening {
    struct widening *next;
    char *kernel; /* owned */
    size_t local[3];
    size_t width;         /* of the widest piece; 0: none yet */
    unsigned long used;   /* value of n_made at the latest use */
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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards all of the following */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct widening *variants;
static struct widening_flight *flights; /* owned, n_flights of room */
static size_t n_flights, room;
static unsigned long n_made; /* variants that the driver has made for us */
static atomic_bool any;      /* read without the lock: there has been a piece to mind */

static struct widening *find(const char *kernel, const size_t local[3])
{
    struct widening *variant = variants;

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
    atomic_store_explicit(&any, true, memory_order_relaxed);
    memcpy(variant->local, local, sizeof variant->local);
    variant->next = variants;
    variants = variant;
    return variant;
}

/* A piece in flight that must be over before one of this width may begin; NULL: none. */
static const struct widening_flight *in_the_way(const struct widening *variant, size_t width,
                                                const struct queue_record *queue)
{
    for (size_t i = 0; i < n_flights; i++)
        if (flights[i].variant == variant && (flights[i].widest || width > variant->width) &&
            flights[i].queue != queue->handle)
            return &flights[i];
    return NULL;
}

static void remove_flight(cl_event event)
{
    for (size_t i = 0; i < n_flights; i++) {
        if (flights[i].event != event)
            continue;
        flights[i] = flights[--n_flights];
        target.clReleaseEvent(event);
        return;
    }
}

static bool is_over(cl_event event)
{
    cl_int status = CL_COMPLETE;

    target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

/* With the lock held: launches that nothing looked at again after their end. */
static void forget_ended(void)
{
    for (size_t i = n_flights; i-- > 0;)
        if (is_over(flights[i].event))
            remove_flight(flights[i].event);
}

/* With the lock held, given up meanwhile. */
static void wait_for(const struct widening_flight *flight)
{
    cl_event event = flight->event;

    target.clRetainEvent(event);
    pthread_mutex_unlock(&lock);
    target.clWaitForEvents(1, &event);
    pthread_mutex_lock(&lock);
    remove_flight(event);
    target.clReleaseEvent(event);
}

void quirks_launch_begin(const struct queue_record *queue, const char *kernel, cl_uint dim,
                         const size_t *local, const size_t *global, struct quirks_launch *ret_launch)
{
    size_t size[3] = {1, 1, 1}, width = 0;
    const struct widening_flight *flight;
    struct widening *variant;

    *ret_launch = (struct quirks_launch){.queue = queue};
    if (!quirks_have(&queue->device->quirks, QUIRK_WIDER_ALONE) ||
        crossing_nested()) /* what it is nested in is not over before it */
        return;
    for (cl_uint d = 0; d < dim; d++) {
        size[d] = local[d];
        width = global[d] > width ? global[d] : width;
    }
    pthread_mutex_lock(&lock);
    variant = find(kernel, size);
    while (variant) {
        if (n_made - variant->used >= KEPT_BY_DRIVER)
            variant->width = 0;
        if (variant->entering && (variant->widest_entering || width > variant->width))
            pthread_cond_wait(&changed, &lock);
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
            n_made++;
        }
        variant->used = n_made;
    }
    pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static bool add_flight(const struct quirks_launch *use, cl_event event)
{
    if (n_flights == room)
        forget_ended();
    if (n_flights == room) {
        struct widening_flight *grown = realloc(flights, (2 * room + 16) * sizeof *flights);

        if (!grown)
            return false;
        flights = grown;
        room = 2 * room + 16;
    }
    flights[n_flights++] = (struct widening_flight){
        event, use->variant, use->queue->base.in_order ? use->queue->handle : NULL, use->widest};
    target.clRetainEvent(event);
    return true;
}

void quirks_launch_end(struct quirks_launch *use, cl_event event)
{
    struct widening *variant = use->variant;

    if (!variant)
        return;
    pthread_mutex_lock(&lock);
    if (!event && use->widest)
        variant->width = 0; /* nothing was made, perhaps */
    if (event && !add_flight(use, event)) {
        pthread_mutex_unlock(&lock);
        target.clWaitForEvents(1, &event);
        pthread_mutex_lock(&lock);
    }
    variant->entering--;
    if (use->widest)
        variant->widest_entering = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void quirks_over(cl_event event)
{
    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    remove_flight(event);
    pthread_mutex_unlock(&lock);
}
