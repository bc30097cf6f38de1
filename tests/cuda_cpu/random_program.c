#include "random_program.h"

#include <string.h>

enum { N_OPERATIONS = 20, N_COMPARISONS = 4 };

static unsigned below(struct random_state *random, unsigned n)
{
    return (unsigned)random_below(random, n);
}

static int make_list(struct program *program, struct random_state *random, unsigned depth, bool together,
                     unsigned length);

/* One statement; `together`: all threads of the block come here. */
static int make_node(struct program *program, struct random_state *random, unsigned depth, bool together)
{
    static const enum program_kind apart[] = {
        PROGRAM_ASSIGN, PROGRAM_ASSIGN,        PROGRAM_ASSIGN, PROGRAM_IF,  PROGRAM_LOOP,
        PROGRAM_ATOMIC, PROGRAM_SHARED_ATOMIC, PROGRAM_LOCAL,  PROGRAM_CALL};
    static const enum program_kind all[] = {PROGRAM_EXCHANGE, PROGRAM_SHUFFLE, PROGRAM_VOTE,
                                            PROGRAM_REDUX,    PROGRAM_MATCH,   PROGRAM_COUNT_BARRIER,
                                            PROGRAM_REPEAT,   PROGRAM_EXCHANGE};
    int index = program->n;
    struct program_node *node = &program->nodes[index];
    enum program_kind kind = together && below(random, 2)
                                 ? all[below(random, sizeof all / sizeof all[0])]
                                 : apart[below(random, sizeof apart / sizeof apart[0])];

    if (program->n == PROGRAM_MOST_NODES)
        return -1;
    if ((depth == 0 && (kind == PROGRAM_IF || kind == PROGRAM_LOOP || kind == PROGRAM_REPEAT)) ||
        (kind == PROGRAM_SHUFFLE && program->threads % 32))
        kind = PROGRAM_ASSIGN;
    if (!program->has_warps &&
        (kind == PROGRAM_SHUFFLE || kind == PROGRAM_VOTE || kind == PROGRAM_REDUX || kind == PROGRAM_MATCH))
        kind = below(random, 2) ? PROGRAM_EXCHANGE : PROGRAM_COUNT_BARRIER;
    program->n++;
    program->seen |= 1U << kind;
    *node = (struct program_node){.kind = kind,
                                  .operation = below(random, N_OPERATIONS),
                                  .d = below(random, PROGRAM_REGISTERS),
                                  .a = below(random, PROGRAM_REGISTERS),
                                  .b = below(random, PROGRAM_REGISTERS),
                                  .c = below(random, PROGRAM_REGISTERS),
                                  .constant = (uint32_t)random_u64(random),
                                  .body = -1,
                                  .other = -1,
                                  .next = -1};
    if (kind == PROGRAM_IF || kind == PROGRAM_LOOP || kind == PROGRAM_REPEAT) {
        int body =
            make_list(program, random, depth - 1, together && kind == PROGRAM_REPEAT, 1 + below(random, 3));
        int other = kind == PROGRAM_IF && below(random, 2)
                        ? make_list(program, random, depth - 1, false, 1 + below(random, 2))
                        : -1;

        program->nodes[index].body = body;
        program->nodes[index].other = other;
    }
    return index;
}

static int make_list(struct program *program, struct random_state *random, unsigned depth, bool together,
                     unsigned length)
{
    int first = -1;
    int last = -1;

    for (unsigned i = 0; i < length; i++) {
        int node = make_node(program, random, depth, together);

        if (node < 0)
            break;
        if (last < 0)
            first = node;
        else
            program->nodes[last].next = node;
        last = node;
    }
    return first;
}

void program_make(struct program *program, struct random_state *random, unsigned number)
{
    static const unsigned sizes[] = {32, 64, 128, 48, 7, 96};

    memset(program, 0, sizeof *program);
    program->number = number;
    program->threads = sizes[below(random, sizeof sizes / sizeof sizes[0])];
    program->blocks = 1 + below(random, 3);
    program->has_warps = below(random, 2);
    program->first = make_list(program, random, 3, true, 4 + below(random, 5));
}

/* The PTX of each operation; random_evaluate.c has its value. */
static const struct {
    const char *opcode, *more;
} operations[N_OPERATIONS] = {
    {"add.u32", ""},
    {"sub.u32", ""},
    {"mul.lo.u32", ""},
    {"mul.hi.u32", ""},
    {"mul.hi.s32", ""},
    {"and.b32", ""},
    {"or.b32", ""},
    {"xor.b32", ""},
    {"min.s32", ""},
    {"max.u32", ""},
    {"shl.b32", ""},
    {"shr.s32", ""},
    {"shr.u32", ""},
    {"div.u32", ""},
    {"rem.s32", ""},
    {"shf.l.wrap.b32", ", 7"},
    {"lop3.b32", ", 0x0f0f1234, 0xe8"},
    {"prmt.b32", ", 0x1746"},
    {"bfi.b32", ", 5, 11"},
    {"sad.s32", ", 77"},
};

static const char *const comparisons[N_COMPARISONS] = {"lt.s32", "eq.u32", "ge.u32", "ne.s32"};

static const char *const atomic_names[] = {"add.u32", "max.u32", "xor.b32", "min.s32"};

static void print_list(const struct program *program, FILE *out, int index);

static bool has(const struct program *program, enum program_kind kind)
{
    return program->seen >> kind & 1;
}

static void print_warp(const struct program_node *n, FILE *out)
{
    static const char *const shuffles[] = {"idx", "up", "down", "bfly"};
    static const char *const sums[] = {"add.u32", "min.s32", "max.u32", "xor.b32"};

    switch (n->kind) {
    case PROGRAM_SHUFFLE:
        fprintf(out, "shfl.sync.%s.b32 %%v%u|%%p0, %%v%u, %u, %u, -1;\n@%%p0 add.u32 %%v%u, %%v%u, 1;\n",
                shuffles[n->operation & 3], n->d, n->a, n->constant & 31, (n->operation & 3) == 1 ? 0U : 31U,
                n->d, n->d);
        break;
    case PROGRAM_VOTE:
        fprintf(out, "setp.%s %%p0, %%v%u, %%v%u;\nvote.sync.ballot.b32 %%v%u, %%p0, %%mask;\n",
                comparisons[n->operation & 3], n->a, n->b, n->d);
        break;
    case PROGRAM_REDUX:
        fprintf(out, "redux.sync.%s %%v%u, %%v%u, %%mask;\n", sums[n->operation & 3], n->d, n->a);
        break;
    case PROGRAM_MATCH:
        fprintf(out, "and.b32 %%t0, %%v%u, 3;\nmatch.any.sync.b32 %%v%u, %%t0, %%mask;\n", n->a, n->d);
        break;
    default:
        fprintf(out, "setp.%s %%p0, %%v%u, %%v%u;\nbar.red.popc.u32 %%v%u, 0, %%p0;\n",
                comparisons[n->operation & 3], n->a, n->b, n->d);
        break;
    }
}

static void print_memory(const struct program *program, const struct program_node *n, int index, FILE *out)
{
    switch (n->kind) {
    case PROGRAM_EXCHANGE: /* thread i reads what thread (i + constant) % threads wrote */
        fprintf(out,
                "st.shared.u32 [%%own], %%v%u;\nbar.sync 0;\nadd.u32 %%t0, %%tid.x, %u;\nrem.u32 %%t0, %%t0, "
                "%u;\n"
                "mad.lo.u32 %%t0, %%t0, 4, %%base;\nld.shared.u32 %%v%u, [%%t0];\nbar.sync 0;\n",
                n->a, n->constant % program->threads, program->threads, n->d);
        break;
    case PROGRAM_ATOMIC:
        fprintf(out, "red.global.%s [%%counters+%u], %%v%u;\n", atomic_names[n->b % 4], 4 * (n->b % 4), n->a);
        break;
    case PROGRAM_SHARED_ATOMIC:
        fprintf(out, "atom.shared.add.u32 %%t0, [cells_%u+%u], %%v%u;\n", program->number,
                4 * (n->b % PROGRAM_COUNTERS), n->a);
        break;
    case PROGRAM_LOCAL:
        fprintf(out,
                "mov.u64 %%x, stack_%u;\nand.b32 %%t0, %%v%u, 3;\nmul.wide.u32 %%y, %%t0, 4;\nadd.u64 %%x, "
                "%%x, %%y;\n"
                "st.local.u32 [stack_%u+4], %%v%u;\nst.local.u32 [%%x], %%v%u;\nld.local.u32 %%v%u, "
                "[stack_%u+4];\n",
                program->number, n->a, program->number, n->b, n->c, n->d, program->number);
        break;
    default:
        fprintf(out,
                "{ .param .b32 a%d; .param .b32 r%d;\nst.param.b32 [a%d], %%v%u;\ncall.uni (r%d), twist_%u, "
                "(a%d);\n"
                "ld.param.b32 %%v%u, [r%d]; }\n",
                index, index, index, n->a, index, program->number, index, n->d, index);
        break;
    }
}

static void print_node(const struct program *program, FILE *out, int index)
{
    const struct program_node *n = &program->nodes[index];

    switch (n->kind) {
    case PROGRAM_ASSIGN:
        if (n->constant & 1)
            fprintf(out, "%s %%v%u, %%v%u, %%v%u%s;", operations[n->operation].opcode, n->d, n->a, n->b,
                    operations[n->operation].more);
        else
            fprintf(out, "xor.b32 %%v%u, %%v%u, 0x%x;", n->d, n->a, n->constant);
        fputs("\n", out);
        break;
    case PROGRAM_IF:
        fprintf(out, "setp.%s %%q%d, %%v%u, %%v%u;\n@!%%q%d bra ELSE_%d;\n", comparisons[n->operation & 3],
                index, n->a, n->b, index, index);
        print_list(program, out, n->body);
        fprintf(out, "bra.uni END_%d;\nELSE_%d:\n", index, index);
        print_list(program, out, n->other);
        fprintf(out, "END_%d:\n", index);
        break;
    case PROGRAM_LOOP:
    case PROGRAM_REPEAT:
        if (n->kind == PROGRAM_LOOP)
            fprintf(out, "and.b32 %%c%d, %%v%u, 3;\n", index, n->a);
        else
            fprintf(out, "mov.u32 %%c%d, %u;\n", index, n->constant % 3 + 1);
        fprintf(out, "TOP_%d:\nsetp.eq.u32 %%q%d, %%c%d, 0;\n@%%q%d bra END_%d;\nsub.u32 %%c%d, %%c%d, 1;\n",
                index, index, index, index, index, index, index);
        print_list(program, out, n->body);
        fprintf(out, "bra TOP_%d;\nEND_%d:\n", index, index);
        break;
    case PROGRAM_SHUFFLE:
    case PROGRAM_VOTE:
    case PROGRAM_REDUX:
    case PROGRAM_MATCH:
    case PROGRAM_COUNT_BARRIER:
        print_warp(n, out);
        break;
    default:
        print_memory(program, n, index, out);
        break;
    }
}

static void print_list(const struct program *program, FILE *out, int index)
{
    for (; index >= 0; index = program->nodes[index].next)
        print_node(program, out, index);
}

/* Declarations, and what the statements that occur need before the first of them. */
static void print_begin(const struct program *program, FILE *out)
{
    unsigned last = program->threads % 32 ? (1U << program->threads % 32) - 1 : UINT32_MAX;

    fprintf(out,
            ".visible .entry k%u(.param .u64 out, .param .u64 counters)\n{\n.reg .b32 %%v<%d>, %%c<%d>, "
            "%%t<2>, %%own, %%base, %%mask;\n"
            ".reg .pred %%p<2>, %%q<%d>;\n.reg .b64 %%out, %%counters, %%x, %%y;\n.shared .align 4 .b8 "
            "words_%u[%u];\n"
            ".shared .align 4 .b8 cells_%u[%d];\n.local .align 4 .b8 stack_%u[16];\n"
            "ld.param.u64 %%out, [out];\nld.param.u64 %%counters, [counters];\n",
            program->number, PROGRAM_REGISTERS, PROGRAM_MOST_NODES, PROGRAM_MOST_NODES, program->number,
            4 * program->threads, program->number, 4 * PROGRAM_COUNTERS, program->number);
    if (has(program, PROGRAM_EXCHANGE))
        fprintf(out, "mov.u32 %%base, words_%u;\nmad.lo.u32 %%own, %%tid.x, 4, %%base;\n", program->number);
    if (has(program, PROGRAM_VOTE) || has(program, PROGRAM_REDUX) || has(program, PROGRAM_MATCH))
        fprintf(out,
                "shr.u32 %%t0, %%tid.x, 5;\nsetp.eq.u32 %%p0, %%t0, %u;\nselp.b32 %%mask, %u, -1, %%p0;\n",
                (program->threads - 1) / 32, last);
    if (has(program, PROGRAM_SHARED_ATOMIC))
        fprintf(out,
                "setp.lt.u32 %%p0, %%tid.x, %d;\nmov.u32 %%t0, cells_%u;\nmad.lo.u32 %%t0, %%tid.x, 4, "
                "%%t0;\nmov.u32 %%t1, 0;\n@%%p0 st.shared.u32 [%%t0], %%t1;\nbar.sync 0;\n",
                PROGRAM_COUNTERS, program->number);
    fputs("mov.u32 %t0, %ctaid.x;\nmul.lo.u32 %t1, %t0, 0x85ebca6b;\nadd.u32 %t0, %tid.x, 1;\n", out);
    for (unsigned i = 0; i < PROGRAM_REGISTERS; i++)
        fprintf(out, "mad.lo.u32 %%v%u, %%t0, %u, %%t1;\n", i, 0x9e3779b9U >> i);
}

static void print_end(const struct program *program, FILE *out)
{
    if (has(program, PROGRAM_SHARED_ATOMIC))
        fputs("bar.sync 0;\n", out);
    fprintf(out,
            "mov.u32 %%t0, %%ctaid.x;\nmad.lo.u32 %%t0, %%t0, %u, %%tid.x;\nmul.wide.u32 %%x, %%t0, %d;\n"
            "add.u64 %%x, %%x, %%out;\nst.global.v4.u32 [%%x], {%%v0, %%v1, %%v2, %%v3};\n"
            "st.global.v2.u32 [%%x+16], {%%v4, %%v5};\n",
            program->threads, 4 * PROGRAM_WORDS);
    _Static_assert(PROGRAM_REGISTERS == 6, "the stores above");
    if (has(program, PROGRAM_SHARED_ATOMIC))
        fprintf(out,
                "and.b32 %%t0, %%tid.x, %d;\nmov.u32 %%t1, cells_%u;\nmad.lo.u32 %%t0, %%t0, 4, "
                "%%t1;\nld.shared.u32 %%t0, [%%t0];\nst.global.u32 [%%x+%d], %%t0;\n",
                PROGRAM_COUNTERS - 1, program->number, 4 * PROGRAM_REGISTERS);
    fputs("ret;\n}\n", out);
}

void program_print(const struct program *program, FILE *out)
{
    if (has(program, PROGRAM_CALL))
        fprintf(out,
                ".func (.param .b32 r) twist_%u(.param .b32 a)\n{\n.reg .b32 %%x<3>;\nld.param.u32 %%x0, "
                "[a];\nmul.lo.u32 %%x1, %%x0, 2654435761;\nshr.u32 %%x2, %%x1, 13;\nxor.b32 %%x0, %%x1, "
                "%%x2;\nst.param.b32 [r], %%x0;\nret;\n}\n",
                program->number);
    print_begin(program, out);
    print_list(program, out, program->first);
    print_end(program, out);
}
