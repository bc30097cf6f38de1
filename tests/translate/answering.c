#include "answering.h"

#include <string.h>

#include "harness.h"

struct translate_result result;

int answer_for(const char *text, const char *options)
{
    size_t length = strlen(text);
    struct translate_request request = {
        .sources = &text, .lengths = &length, .n_sources = 1, .options = options};

    request.device =
        (struct translate_device){.version = "OpenCL 3.0", .c_version = "OpenCL C 1.2", .address_bits = 64};
    return translate_program(&request, &result);
}

const struct translate_kernel *kernel_of(const char *text)
{
    int r = answer_for(text, "-cl-std=CL1.2");

    ck_assert_msg(r == 0, "%s: %s", text, r > 0 ? result.reason : strerror(-r));
    ck_assert_ptr_nonnull(translate_find(&result, "k"));
    return translate_find(&result, "k");
}

void expect_sliceable(const char *text, bool sliceable)
{
    const struct translate_kernel *kernel = kernel_of(text);

    ck_assert_msg(kernel->sliceable == sliceable, "%s: %s", text, kernel->reason);
    ck_assert_int_eq(kernel->reason[0] == 0, sliceable);
    translate_result_done(&result);
}
