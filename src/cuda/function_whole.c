/* What keeps a kernel whole although its text can be cut, and how that is told. */
#include "cuda/function.h"
#include "engine/runtime.h"

void function_is_set(struct function_record *function, CUfunction_attribute attribute, int value)
{
    if (attribute >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
        attribute <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH && value > 0)
        atomic_store(&function->apart, "its blocks form clusters");
}

void function_differs(struct function_record *function)
{
    if (!atomic_load(&function->apart))
        atomic_store(&function->apart, "the driver refuses one of its attributes for its pieces");
}

const char *function_apart(const struct function_record *function, uint64_t threads)
{
    const char *apart = atomic_load_explicit(&function->apart, memory_order_relaxed);

    if (!apart && function->kernel)
        apart = atomic_load_explicit(&function->kernel->apart, memory_order_relaxed);
    if (!apart && (function->piece_threads_limit < 0 || threads > (uint64_t)function->piece_threads_limit))
        apart = "its pieces cannot have blocks of so many threads";
    return apart;
}

_Static_assert(COUNTER_UNSLICED_OTHER - COUNTER_UNSLICED_BINARY == NOTICE_OTHER - NOTICE_BINARY,
               "both follow wire/notice.def");

void function_count_whole(struct function_record *function, enum session_counter counter, const char *detail)
{
    struct session *session = runtime_session();
    int number;

    runtime_count(counter, 1);
    if (!session || !function || counter == COUNTER_UNSLICED_SMALL || counter == COUNTER_UNSLICED_OFF)
        return;
    number = atomic_load(&function->notice);
    if (number >= 0) {
        session_notice_again(session, number);
        return;
    }
    if (!detail)
        detail = function->why ? function->why : "";
    number =
        session_notice(session, (enum notice)(counter - COUNTER_UNSLICED_BINARY), function->name, detail);
    atomic_store(&function->notice, number);
}
