#include "makespan/ptx/ptx_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scanner {
    const char *path;
    const char *at, *end;
    const char *line_begin;
    unsigned line;
    struct arena *arena;
    struct input_error *error;
    size_t n_functions;
};

bool ptx_text_equals(struct ptx_text text, const char *other, size_t length)
{
    return text.length == length && memcmp(text.begin, other, length) == 0;
}

static bool is(struct ptx_text text, const char *word)
{
    return ptx_text_equals(text, word, strlen(word));
}

/* By bytes, then by length. */
static int compare(struct ptx_text a, struct ptx_text b)
{
    int order = memcmp(a.begin, b.begin, a.length < b.length ? a.length : b.length);

    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_name(const void *left, const void *right)
{
    const struct ptx_label *a = left, *b = right;
    int order = compare(a->name, b->name);

    /* Equal names in the order of the file, so that the later one is reported. */
    return order ? order : (a->name.begin > b->name.begin) - (a->name.begin < b->name.begin);
}

const struct ptx_label *ptx_find_label(const struct ptx_function *function, struct ptx_text name)
{
    size_t low = 0, high = function->n_labels;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare(function->labels[middle].name, name);

        if (order == 0)
            return &function->labels[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int reject(struct scanner *scanner, const char *expected)
{
    char found[32] = "the end of the file";
    size_t left = (size_t)(scanner->end - scanner->at);

    if (left)
        (void)snprintf(found, sizeof found, "%.*s", left < 24 ? (int)left : 24, scanner->at);
    return input_reject(scanner->error, scanner->path, scanner->line,
                        (unsigned)(scanner->at - scanner->line_begin) + 1, found, "%s", expected);
}

static void step(struct scanner *scanner)
{
    if (*scanner->at++ == '\n') {
        scanner->line++;
        scanner->line_begin = scanner->at;
    }
}

static bool starts(const struct scanner *scanner, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(scanner->end - scanner->at) >= n && memcmp(scanner->at, text, n) == 0;
}

static void skip_line(struct scanner *scanner)
{
    while (scanner->at < scanner->end && *scanner->at != '\n')
        scanner->at++;
}

static int skip_blank(struct scanner *scanner)
{
    while (scanner->at < scanner->end) {
        if (starts(scanner, "//")) {
            skip_line(scanner);
        } else if (starts(scanner, "/*")) {
            while (scanner->at < scanner->end && !starts(scanner, "*/"))
                step(scanner);
            if (scanner->at == scanner->end)
                return reject(scanner, "the end of the comment");
            scanner->at += 2;
        } else if (isspace((unsigned char)*scanner->at)) {
            step(scanner);
        } else {
            break;
        }
    }
    return 0;
}

/* Names, directives, registers, numbers: what stands together. */
static struct ptx_text word(struct scanner *scanner)
{
    struct ptx_text text = {.begin = scanner->at};

    while (scanner->at < scanner->end &&
           (isalnum((unsigned char)*scanner->at) || strchr("_.$%", *scanner->at)) && *scanner->at)
        scanner->at++;
    text.length = (size_t)(scanner->at - text.begin);
    return text;
}

static int skip_string(struct scanner *scanner)
{
    for (step(scanner); scanner->at < scanner->end && *scanner->at != '"'; step(scanner)) {
        if (*scanner->at == '\\' && scanner->at + 1 < scanner->end)
            step(scanner);
    }
    if (scanner->at == scanner->end)
        return reject(scanner, "the end of the string");
    scanner->at++;
    return 0;
}

/* Up to the first of the `stops` outside of brackets, strings and comments; the stop itself is not consumed. */
static int skip_to(struct scanner *scanner, const char *stops, const char *expected)
{
    int depth = 0;

    for (;;) {
        int result = skip_blank(scanner);

        if (result)
            return result;
        if (scanner->at == scanner->end)
            return reject(scanner, expected);
        if (depth == 0 && *scanner->at && strchr(stops, *scanner->at))
            return 0;
        if (*scanner->at == '"') {
            result = skip_string(scanner);
            if (result)
                return result;
            continue;
        }
        if (strchr("([{", *scanner->at) && *scanner->at)
            depth++;
        else if (strchr(")]}", *scanner->at) && *scanner->at && --depth < 0)
            return reject(scanner, expected);
        step(scanner);
    }
}

/* Room for one more: the old array stays in the arena, which at most doubles it. */
static int grow(struct scanner *scanner, void **array, size_t n, size_t *room, size_t size)
{
    size_t wanted = *room ? 2 * *room : 64;
    void *more;

    if (n < *room)
        return 0;
    more = arena_calloc(scanner->arena, wanted, size);
    if (!more)
        return -ENOMEM;
    if (n)
        memcpy(more, *array, n * size);
    *array = more;
    *room = wanted;
    return 0;
}

static int add_label(struct scanner *scanner, struct ptx_function *function, struct ptx_text name)
{
    void *labels = function->labels;
    int result =
        grow(scanner, &labels, function->n_labels, &function->labels_room, sizeof function->labels[0]);

    if (result)
        return result;
    function->labels = labels;
    function->labels[function->n_labels++] =
        (struct ptx_label){.name = name,
                           .at = function->n,
                           .line = scanner->line,
                           .column = (unsigned)(name.begin - scanner->line_begin) + 1};
    return 0;
}

/* Brings the labels in order; a second one of the same name is an error. */
static int close_labels(struct scanner *scanner, struct ptx_function *function)
{
    if (function->n_labels)
        qsort(function->labels, function->n_labels, sizeof function->labels[0], by_name);
    for (size_t i = 1; i < function->n_labels; i++) {
        const struct ptx_label *label = &function->labels[i];

        if (compare(label->name, label[-1].name) == 0) {
            char found[64];

            (void)snprintf(found, sizeof found, "%.*s again",
                           label->name.length < 50 ? (int)label->name.length : 50, label->name.begin);
            return input_reject(scanner->error, scanner->path, label->line, label->column, found,
                                "each label once in a function");
        }
    }
    return 0;
}

static int add_instruction(struct scanner *scanner, struct ptx_function *function,
                           const struct ptx_instruction *instruction)
{
    void *instructions = function->instructions;
    int result = grow(scanner, &instructions, function->n, &function->room, sizeof *instruction);

    if (result)
        return result;
    function->instructions = instructions;
    function->instructions[function->n++] = *instruction;
    return 0;
}

/* The label or function that an instruction goes to: of a call, what is not in brackets; of brx, the last operand. */
static int read_target(struct scanner *scanner, struct ptx_instruction *instruction)
{
    int result;

    for (;;) {
        result = skip_blank(scanner);
        if (result)
            return result;
        if (scanner->at < scanner->end && *scanner->at == '(') {
            result = skip_to(scanner, ",;", "';'");
            if (result)
                return result;
        }
        if (scanner->at < scanner->end && *scanner->at == ',') {
            scanner->at++;
            continue;
        }
        if (scanner->at == scanner->end || *scanner->at == ';')
            break;
        if (!instruction->target.length || instruction->flow == PTX_TABLE) {
            instruction->target = word(scanner);
            if (!instruction->target.length)
                return reject(scanner, "a label or function");
        } else {
            return instruction->flow == PTX_CALL ? skip_to(scanner, ";", "';'") : reject(scanner, "';'");
        }
    }
    if (!instruction->target.length || *instruction->target.begin == '%') {
        if (instruction->target.length)
            scanner->at = instruction->target.begin;
        return reject(scanner, "a label or function that is known before the kernel runs");
    }
    return 0;
}

/*
 * The operands of a barrier, up to its ';'. `bar.sync a` and `bar.red d, a, c` are barriers of the whole group; one operand more is a number
 * of threads. A predicate may leave some warps out. Neither is in the model, so both are rejected at the instruction.
 */
static int read_barrier(struct scanner *scanner, struct ptx_text opcode, struct ptx_instruction *instruction)
{
    size_t expected = 1, found = 1;
    int result;

    for (size_t i = 0; i + 4 <= opcode.length; i++) {
        if (memcmp(opcode.begin + i, ".red", 4) == 0)
            expected = 3;
    }
    while ((result = skip_to(scanner, ",;", "';' after the instruction")) == 0 && *scanner->at == ',') {
        scanner->at++;
        found++;
    }
    if (result)
        return result;
    instruction->is_barrier = true;
    if (found == expected && !instruction->is_predicated)
        return 0;
    return input_reject(scanner->error, scanner->path, instruction->line, instruction->column,
                        instruction->is_predicated ? "a predicated one" : "one of some threads",
                        "a barrier of all threads of the group, without a number of threads or a predicate");
}

static int read_instruction(struct scanner *scanner, struct ptx_function *function)
{
    struct ptx_instruction instruction = {.line = scanner->line,
                                          .column = (unsigned)(scanner->at - scanner->line_begin) + 1};
    struct ptx_text opcode;
    int result = 0;

    if (*scanner->at == '@') {
        instruction.is_predicated = true;
        scanner->at++;
        if (scanner->at < scanner->end && *scanner->at == '!')
            scanner->at++;
        if (word(scanner).length == 0)
            return reject(scanner, "a predicate");
        result = skip_blank(scanner);
    }
    opcode = word(scanner);
    if (result == 0 && !ptx_classify(opcode.begin, opcode.length, &instruction.unit, &instruction.flow)) {
        scanner->at = opcode.begin;
        return reject(scanner, "a PTX instruction");
    }
    if (result == 0 && ptx_wait_of(opcode.begin, opcode.length) == PTX_WAIT_OTHER) {
        scanner->at = opcode.begin;
        return reject(scanner, "no wait for other warps or for time but barriers of the whole group");
    }
    if (result == 0 && ptx_wait_of(opcode.begin, opcode.length) == PTX_WAIT_GROUP)
        result = read_barrier(scanner, opcode, &instruction);
    if (result == 0 &&
        (instruction.flow == PTX_BRANCH || instruction.flow == PTX_TABLE || instruction.flow == PTX_CALL))
        result = read_target(scanner, &instruction);
    if (result == 0)
        result = skip_to(scanner, ";", "';' after the instruction");
    if (result)
        return result;
    scanner->at++;
    return add_instruction(scanner, function, &instruction);
}

/* A directive inside a function: declarations, locations, pragmas; lists of branch targets are kept with their label. */
static int read_directive(struct scanner *scanner, struct ptx_function *function)
{
    struct ptx_text name = word(scanner);
    const char *begin = scanner->at;
    int result;

    if (is(name, ".loc") || is(name, ".file")) {
        skip_line(scanner);
        return 0;
    }
    result = skip_to(scanner, ";", "';' after the directive");
    if (result)
        return result;
    if (is(name, ".branchtargets") && function->n_labels)
        function->labels[function->n_labels - 1].targets =
            (struct ptx_text){.begin = begin, .length = (size_t)(scanner->at - begin)};
    scanner->at++;
    return 0;
}

static int read_statement(struct scanner *scanner, struct ptx_function *function)
{
    const char *begin = scanner->at;
    struct ptx_text name;
    int result;

    if (*begin == '.')
        return read_directive(scanner, function);
    if (*begin == '@')
        return read_instruction(scanner, function);
    name = word(scanner);
    if (name.length == 0)
        return reject(scanner, "an instruction, a label or '}'");
    result = skip_blank(scanner);
    if (result)
        return result;
    if (scanner->at < scanner->end && *scanner->at == ':') {
        scanner->at++;
        return add_label(scanner, function, name);
    }
    scanner->at = begin;
    return read_instruction(scanner, function);
}

/* From behind '{' to behind the matching '}'; inner braces are scopes. */
static int read_body(struct scanner *scanner, struct ptx_function *function)
{
    for (unsigned depth = 1; depth;) {
        int result = skip_blank(scanner);

        if (result)
            return result;
        if (scanner->at == scanner->end)
            return reject(scanner, "'}' at the end of the function");
        if (*scanner->at == '{' || *scanner->at == '}') {
            depth += *scanner->at == '{' ? 1u : -1u;
            scanner->at++;
            continue;
        }
        result = read_statement(scanner, function);
        if (result)
            return result;
    }
    return close_labels(scanner, function);
}

/* .entry name (...) { } or .func (...) name (...) { }, or a declaration that ends with ';'. */
static int read_function(struct scanner *scanner, bool is_entry, struct ptx_function ***tail)
{
    struct ptx_function *function = arena_calloc(scanner->arena, 1, sizeof *function);
    int result = function ? skip_blank(scanner) : -ENOMEM;

    if (result == 0 && scanner->at < scanner->end && *scanner->at == '(') {
        scanner->at++;
        result = skip_to(scanner, ")", "')'");
        scanner->at += result == 0;
        result = result ? result : skip_blank(scanner);
    }
    if (result)
        return result;
    function->is_entry = is_entry;
    function->index = scanner->n_functions++;
    function->line = scanner->line;
    function->name = word(scanner);
    if (!function->name.length)
        return reject(scanner, "the name of the function");
    result = skip_to(scanner, "{;", "the body of the function");
    if (result)
        return result;
    function->has_body = *scanner->at++ == '{';
    **tail = function;
    *tail = &function->next;
    return function->has_body ? read_body(scanner, function) : 0;
}

/* One statement outside of functions. */
static int read_outside(struct scanner *scanner, struct ptx_function ***tail)
{
    struct ptx_text name = word(scanner);
    int result;

    if (is(name, ".entry") || is(name, ".func"))
        return read_function(scanner, is(name, ".entry"), tail);
    if (is(name, ".version") || is(name, ".target") || is(name, ".address_size") || is(name, ".file") ||
        is(name, ".loc")) {
        skip_line(scanner);
        return 0;
    }
    if (is(name, ".visible") || is(name, ".weak") || is(name, ".extern") || is(name, ".common"))
        return 0;
    if (name.length < 2 || name.begin[0] != '.') {
        scanner->at = name.begin;
        return reject(scanner, "a PTX directive");
    }
    if (is(name, ".section")) {
        result = skip_to(scanner, "{", "'{'");
        if (result == 0) {
            scanner->at++;
            result = skip_to(scanner, "}", "'}' at the end of the section");
        }
    } else {
        result = skip_to(scanner, ";", "';' after the declaration");
    }
    scanner->at += result == 0;
    return result;
}

int ptx_scan(const char *path, const char *text, size_t size, struct arena *arena,
             struct ptx_function **ret_functions, struct input_error *ret_error)
{
    struct scanner scanner = {.path = path,
                              .at = text,
                              .end = text + size,
                              .line_begin = text,
                              .line = 1,
                              .arena = arena,
                              .error = ret_error};
    struct ptx_function *functions = NULL;
    struct ptx_function **tail = &functions;
    int result = skip_blank(&scanner);

    if (result == 0 && !starts(&scanner, ".version"))
        return reject(&scanner, "PTX, which begins with .version");
    while (result == 0 && scanner.at < scanner.end) {
        result = read_outside(&scanner, &tail);
        if (result == 0)
            result = skip_blank(&scanner);
    }
    if (result == 0)
        *ret_functions = functions;
    return result;
}
