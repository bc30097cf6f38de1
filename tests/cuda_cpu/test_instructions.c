/*
 * Every form of every instruction that computes, against results that instructions.py has computed
 * on exact numbers.
 */
#include "device.h"

#include "base/file.h"
#include "harness.h"
#include "ptx/ptx_module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CASES = 256, MOST_OPERANDS = 4, MOST_RESULTS = 3 };

struct form {
    unsigned entry, approximate, operands, results, bytes;
    char name[64];
    size_t n;
    uint64_t in[MOST_CASES][MOST_OPERANDS];
    uint64_t low[MOST_CASES][MOST_RESULTS], high[MOST_CASES][MOST_RESULTS];
    bool any[MOST_CASES][MOST_RESULTS];
};

/* A file that instructions.py made when the tests were built. */
static void generated(const char *name, char ret_path[static PATH_MAX])
{
    ck_assert_int_lt(snprintf(ret_path, PATH_MAX, "%s/tests/cuda_cpu/%s", getenv("BATON_BUILD"), name),
                     PATH_MAX);
}

/* The caller frees it. */
static char *read_generated(const char *name, size_t *ret_size)
{
    char path[PATH_MAX];
    char *text;

    generated(name, path);
    ck_assert_int_eq(file_read(path, 64 << 20, &text, ret_size), 0);
    return text;
}

static double real_of(uint64_t bits, unsigned bytes)
{
    double wide;
    float narrow;

    if (bytes == 8) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

static bool is_right(const struct form *form, size_t i, unsigned k, uint64_t found)
{
    if (form->approximate) {
        double value = real_of(found, form->bytes);

        return form->any[i][k] || (value >= real_of(form->low[i][k], form->bytes) &&
                                   value <= real_of(form->high[i][k], form->bytes));
    }
    if (form->any[i][k]) { /* an f64 that is no number */
        double value = real_of(found, 8);

        return value != value;
    }
    return found == form->low[i][k];
}

/* Runs the cases of one form; how many are wrong. */
static unsigned run_form(struct device *device, const struct form *form, uint64_t *in, uint64_t *out)
{
    char name[16];
    unsigned wrong = 0;

    (void)snprintf(name, sizeof name, "e%u", form->entry);
    for (size_t i = 0; i < form->n; i++)
        for (unsigned k = 0; k < form->operands; k++)
            in[i * form->operands + k] = form->in[i][k];
    memset(out, 0, sizeof(uint64_t) * form->n * form->results);
    ck_assert_msg(device_run(device, name, 1, (unsigned)form->n, "ll", in, out) == CPU_OK, "%s: %s",
                  form->name, device->fault.text);
    for (size_t i = 0; i < form->n; i++)
        for (unsigned k = 0; k < form->results; k++)
            if (!is_right(form, i, k, out[i * form->results + k]) && wrong++ < 3) {
                fprintf(stderr, "%s:", form->name);
                for (unsigned o = 0; o < form->operands; o++)
                    fprintf(stderr, " %llx", (unsigned long long)form->in[i][o]);
                fprintf(stderr, " gives %llx (result %u), expected %llx\n",
                        (unsigned long long)out[i * form->results + k], k,
                        (unsigned long long)form->low[i][k]);
            }
    return wrong;
}

static void read_case(struct form *form, char *line)
{
    char *rest = NULL;
    char *word = strtok_r(line, " ", &rest);
    size_t i = form->n++;

    ck_assert_uint_lt(i, MOST_CASES);
    for (unsigned k = 0; k < form->operands; k++, word = strtok_r(NULL, " ", &rest))
        form->in[i][k] = strtoull(word, NULL, 16);
    for (unsigned k = 0; k < form->results; k++) {
        char *low = strtok_r(NULL, " ", &rest);
        char *high = strtok_r(NULL, " ", &rest);

        form->any[i][k] = strcmp(low, "nan") == 0;
        form->low[i][k] = strtoull(low, NULL, 16);
        form->high[i][k] = strtoull(high, NULL, 16);
    }
}

/*
 * Moves *ptx behind the entries of the next `n` forms. A module of all of them would take the
 * compiler most of a minute, and the device's compiler has five by the clock, which is too little
 * on a very busy machine.
 */
static void next_part(const char **ptx, unsigned n)
{
    static const char begin[] = ".visible .entry";

    while (n-- && **ptx) {
        const char *next = strstr(*ptx + 1, begin);

        *ptx = next ? next : *ptx + strlen(*ptx);
    }
}

static void open_part(struct device *device, const char *head, const char *part, const char *end)
{
    char *text;

    ck_assert_int_gt(asprintf(&text, "%s%.*s", head, (int)(end - part), part), 0);
    device_open(device, text, strlen(text));
    free(text);
}

enum { PER_MODULE = 100, EVERY = -1 };

/* Compiles one module of four for this level, or every one. How many forms were there in all. */
static unsigned check_forms(enum image_haste haste, int quarter)
{
    static struct device device;
    static struct form form;
    static uint64_t *in, *out; /* of the module that is open */
    size_t size;
    char *ptx = read_generated("instructions.ptx", &size), *cases = read_generated("instructions.txt", &size);
    const char *entries = strstr(ptx, ".visible .entry");
    char *head = strndup(ptx, (size_t)(entries - ptx)), *rest = NULL;
    unsigned wrong = 0, forms = 0;
    bool is_open = false;

    for (char *line = strtok_r(cases, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "form", 4) != 0) {
            read_case(&form, line);
            continue;
        }
        if (is_open)
            wrong += run_form(&device, &form, in, out);
        if (forms % PER_MODULE == 0) {
            const char *part = entries;

            if (is_open)
                device_close(&device);
            next_part(&entries, PER_MODULE);
            is_open = quarter == EVERY || (int)(forms / PER_MODULE % 4) == quarter;
            if (is_open) {
                device.haste = haste;
                open_part(&device, head, part, entries);
                in = device_memory(&device, sizeof form.in);
                out = device_memory(&device, sizeof form.in);
            }
        }
        forms++;
        form.n = 0;
        ck_assert_int_eq(sscanf(line, "form %u %u %u %u %u %63[^\n]", &form.entry, &form.approximate,
                                &form.operands, &form.results, &form.bytes, form.name),
                         6);
    }
    if (is_open) {
        wrong += run_form(&device, &form, in, out);
        device_close(&device);
    }
    ck_assert_msg(wrong == 0, "%u results are wrong, haste %d, quarter %d", wrong, (int)haste, quarter);
    free(head);
    free(ptx);
    free(cases);
    return forms;
}

/*
 * Every form is compiled without optimisation, which takes a fraction of the time. Of the others, a
 * quarter (BATON_QUARTER=0..3). The soak has all forms at all levels.
 */
START_TEST(every_form_gives_the_exact_result)
{
    const char *asked = getenv("BATON_QUARTER");
    int quarter = asked ? atoi(asked) : 0;

    if (getenv("BATON_SOAK"))
        quarter = EVERY;
    ck_assert_uint_gt(check_forms(IMAGE_AT_ONCE, EVERY), 1400);
    printf("optimised: quarter %d\n", quarter);
    (void)check_forms(IMAGE_SOON, quarter);
    (void)check_forms(IMAGE_WELL, quarter);
}
END_TEST

/*
 * Is every alternative of every group of the row used by some statement? Prints those that are not.
 */
static unsigned unused_of(const struct ptx_row *row, const struct ptx_module *module)
{
    char copy[1024];
    char *rest = NULL;
    unsigned unused = 0;

    (void)snprintf(copy, sizeof copy, "%s", row->modifiers);
    for (char *word = strtok_r(copy, " |?:-", &rest); word; word = strtok_r(NULL, " |?:-", &rest)) {
        bool found = false;

        for (const struct ptx_routine *f = module->routines; f && !found; f = f->next)
            for (size_t i = 0; i < f->n && !found; i++)
                found = f->statements[i].match.row == row && ptx_has(module, &f->statements[i], word);
        if (!found)
            fprintf(stderr, "no form uses .%s of %s \"%s\"\n", word, row->opcode, row->modifiers);
        unused += !found;
    }
    return unused;
}

START_TEST(the_forms_cover_the_table)
{
    struct ptx_module module;
    struct input_error error;
    bool refused;
    size_t size;
    char *ptx = read_generated("instructions.ptx", &size);
    unsigned unused = 0;

    ck_assert_int_eq(ptx_module_read(&module, "instructions.ptx", ptx, size, &refused, &error), 0);
    for (size_t i = 0; i < ptx_n_rows; i++)
        if (ptx_rows[i].family <= PTX_CARRY || ptx_rows[i].family == PTX_CONVERT ||
            ptx_rows[i].family == PTX_SETP)
            unused += unused_of(&ptx_rows[i], &module);
    ck_assert_uint_le(unused, 0);
    ptx_module_done(&module);
    free(ptx);
}
END_TEST

START_TEST(an_assembler_accepts_the_forms)
{
    char path[PATH_MAX];
    char command[PATH_MAX + 64];

    if (system("command -v ptxas > /dev/null") !=
        0) { /* NOLINT(concurrency-mt-unsafe,cert-env33-c): the only thread */
        puts("skipped: there is no ptxas");
        return;
    }
    generated("instructions.ptx", path);
    (void)snprintf(command, sizeof command, "ptxas -arch=sm_90 '%s' -o /dev/null", path);
    ck_assert_int_eq(system(command), 0); /* NOLINT(concurrency-mt-unsafe): the only thread */
    (void)snprintf(command, sizeof command, "ptxas -arch=sm_80 '%s' -o /dev/null",
                   harness_data("cuda_cpu/kernels.ptx"));
    ck_assert_int_eq(system(command), 0); /* NOLINT(concurrency-mt-unsafe): the only thread */
}
END_TEST

HARNESS_MAIN("cuda_cpu instructions", 300, every_form_gives_the_exact_result, the_forms_cover_the_table,
             an_assembler_accepts_the_forms)
