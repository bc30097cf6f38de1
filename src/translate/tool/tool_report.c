#include "translate/tool/tool_report.h"
#include "translate/tool/analyse.h"
#include "translate/metadata.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

json_t *report_string(const char *text)
{
    char *copy = text_copy(text, strlen(text));

    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
            *c = '?';
    return json_string(copy);
}

static void append(json_t *list, uint32_t number)
{
    json_array_append_new(list, json_integer((json_int_t)number));
}

static void append_product(json_t *list, const struct reach_product *product)
{
    append(list, product->number);
    append(list, product->n);
    for (uint32_t i = 0; i < product->n; i++) {
        append(list, product->factors[i].kind);
        append(list, product->factors[i].of);
    }
}

/* As numbers, one after the other; metadata.c reads them back. */
static json_t *reach_list(const struct reach *reach)
{
    json_t *list = json_array();

    append(list, reach->n);
    for (uint32_t i = 0; i < reach->n; i++) {
        append(list, reach->digits[i].kind);
        append(list, reach->digits[i].dim);
        append_product(list, &reach->digits[i].each);
        append_product(list, &reach->digits[i].room);
    }
    return list;
}

json_t *report_argument(const struct translate_arg *arg)
{
    return json_pack("{s:s, s:b, s:b, s:b, s:b, s:o, s:I, s:I}", "access", metadata_access_name(arg->access),
                     "local", arg->local, "image", arg->image, "sampler", arg->sampler, "own_write",
                     arg->own_write, "reach", reach_list(&arg->reach), "element", (json_int_t)arg->element,
                     "store", (json_int_t)arg->store);
}

/*
 * reqd_work_group_size(x, y, z) among the words before the kernel's name; a null if it is not three
 * plain numbers.
 */
static json_t *required_size(const struct syntax *syntax, const struct syntax_function *kernel)
{
    char *head = text_copy(syntax->text + kernel->head, kernel->body->at - kernel->head);
    const char *attribute = strstr(head, "reqd_work_group_size");
    unsigned long long size[3];

    attribute = attribute ? strchr(attribute, '(') : NULL;
    if (!attribute || sscanf(attribute, "( %9llu , %9llu , %9llu )", &size[0], &size[1], &size[2]) != 3)
        return json_null();
    return json_pack("[I, I, I]", (json_int_t)size[0], (json_int_t)size[1], (json_int_t)size[2]);
}

static json_t *kernel_object(const struct syntax *syntax, struct syntax_function *kernel)
{
    const uint32_t unsplittable =
        USE_GLOBAL_ATOMICS | USE_VOLATILE | USE_PRINTF | USE_PIPES | USE_STORED_POINTERS;
    struct translate_arg *args = text_alloc(kernel->n_params, sizeof *args);
    json_t *list = json_array();

    analyse_arguments(syntax, kernel, args);
    for (uint32_t i = 0; i < kernel->n_params; i++)
        json_array_append_new(list, report_argument(&args[i]));
    return json_pack("{s:o, s:b, s:s, s:b, s:b, s:b, s:o, s:o}", "name", report_string(kernel->symbol->name),
                     "sliceable", !kernel->obstacle, "reason", kernel->obstacle ? kernel->obstacle : "",
                     "observes_local_size", (kernel->uses & USE_LOCAL_SIZE) || kernel->obstacle, "splittable",
                     !(kernel->uses & unsplittable) && !kernel->obstacle, "printf",
                     (kernel->uses & USE_PRINTF) != 0, "reqd_local", required_size(syntax, kernel), "args",
                     list);
}

char *tool_report_json(const struct report *report)
{
    bool translated = !report->refusal.reason[0];
    json_t *kernels = report->kernels ? report->kernels : json_array();
    json_t *root;
    char *text;

    for (struct syntax_function *f = report->syntax.functions; f && translated && !report->kernels;
         f = f->next)
        if (f->kernel && f->defined)
            json_array_append_new(kernels, kernel_object(&report->syntax, f));
    root = json_pack("{s:b, s:o, s:o, s:o}", "translated", translated, "reason",
                     report_string(report->refusal.reason), "options",
                     report_string(report->options ? report->options : ""), "kernels", kernels);
    text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (!text)
        _exit(TEXT_EXIT_MEMORY);
    return text;
}
