#include "translate/tool/intermediate.h"

#include <jansson.h>
#include <unistd.h>

#include "spirv/spirv_cut.h"

static const size_t most_memory = (size_t)1 << 30;

bool intermediate_is(const struct text *source)
{
    return source->bytes && spirv_is(source->bytes, source->length);
}

/* The kernel reads, writes or does both with memory arguments: a module does not say which. */
static json_t *argument_object(enum spirv_argument argument)
{
    bool shared = argument == SPIRV_MEMORY || argument == SPIRV_IMAGE;
    struct translate_arg arg = {.access = shared ? TRANSLATE_UNKNOWN : TRANSLATE_VALUE,
                                .local = argument == SPIRV_LOCAL,
                                .image = argument == SPIRV_IMAGE,
                                .sampler = argument == SPIRV_SAMPLER};

    return report_argument(&arg);
}

static json_t *kernel_object(const struct spirv_cut *cut, const struct spirv_kernel *kernel)
{
    json_t *args = json_array();
    json_t *local = json_null();

    for (uint32_t i = 0; i < kernel->n_args; i++)
        json_array_append_new(args, argument_object(kernel->args[i]));
    if (kernel->reqd_local_given)
        local = json_pack("[I, I, I]", (json_int_t)kernel->reqd_local[0], (json_int_t)kernel->reqd_local[1],
                          (json_int_t)kernel->reqd_local[2]);
    return json_pack("{s:o, s:b, s:s, s:b, s:b, s:b, s:o, s:o}", "name", report_string(kernel->name),
                     "sliceable", !kernel->obstacle, "reason", kernel->obstacle ? kernel->obstacle : "",
                     "observes_local_size", cut->observes_local_size || kernel->obstacle, "splittable", 0,
                     "printf", 0, "reqd_local", local, "args", args);
}

void intermediate_translate(const struct text *source, enum translate_mode mode, struct report *ret_report)
{
    struct spirv_refusal refusal = {0};
    struct spirv_cut cut;
    struct arena arena;
    int result;

    if (mode == TRANSLATE_COMPILE) {
        refuse(&ret_report->refusal, "SPIR-V that is compiled to be linked");
        return;
    }
    arena_init(&arena, most_memory);
    result = spirv_cut(&arena, source->bytes, source->length, &cut, &refusal);
    if (result < 0)
        _exit(TEXT_EXIT_MEMORY);
    if (result) {
        refuse(&ret_report->refusal, "SPIR-V: %s", refusal.reason);
        return;
    }
    ret_report->kernels = json_array();
    for (size_t i = 0; i < cut.n_kernels; i++)
        json_array_append_new(ret_report->kernels, kernel_object(&cut, &cut.kernels[i]));
    text_add(&ret_report->source, (const char *)cut.words, cut.n_words * sizeof *cut.words);
    arena_done(&arena);
}
