/* Branches, calls, ends, and memory on the stack. */
#include "cuda_cpu/emit/emit.h"

#include <inttypes.h>
#include <string.h>

static void emit_branch(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;

    if (e->routine->spins && e->routine->spins[e->index])
        fputs("SPIN(); ", e->out);
    fprintf(e->out, "goto L%zu;\n", s->operands[0].label);
}

static void emit_indexed(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;

    fputs("switch (", e->out);
    emit_source(e, &s->operands[0], PTX_U32, false);
    fputs(") {\n", e->out);
    for (unsigned i = 0; i < s->n_targets; i++)
        fprintf(e->out, "case %u: goto L%zu;\n", i, s->targets[i].label);
    fprintf(e->out, "default: t->calls->fault(t, DEVICE_BAD_CALL, %u); __builtin_unreachable(); }\n",
            emit_line(e));
}

static void emit_stack(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;

    if (strcmp(s->match.row->opcode, "alloca") == 0) {
        uint64_t alignment = s->n_operands > 2 ? s->operands[2].bits : 8;

        emit_begin(e, &s->operands[0], PTX_U64, false);
        fputs("(uint64_t)__builtin_alloca_with_align(", e->out);
        emit_source(e, &s->operands[1], PTX_U64, false);
        fprintf(e->out, ", %u)", alignment > 16 && alignment <= 1024 ? (unsigned)alignment * 8 : 128);
        emit_end(e);
    } else if (strcmp(s->match.row->opcode, "stacksave") ==
               0) { /* the memory is freed when the routine ends */
        emit_begin(e, &s->operands[0], PTX_U64, false);
        fputs("0", e->out);
        emit_end(e);
    } else {
        fputs(";\n", e->out);
    }
}

void emit_flow(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;

    switch (s->match.row->family) {
    case PTX_BRANCH:
        emit_branch(e);
        break;
    case PTX_INDEXED:
        emit_indexed(e);
        break;
    case PTX_RETURN:
        fputs(e->stages ? "return 0;\n" : "return;\n", e->out);
        break;
    case PTX_EXIT:
        fputs(e->stages                       ? "return 0;\n"
              : e->routine->routine->is_entry ? "return;\n"
                                              : "t->calls->exit(t); __builtin_unreachable();\n",
              e->out);
        break;
    case PTX_TRAP:
        fprintf(e->out, "t->calls->fault(t, DEVICE_TRAP, %u); __builtin_unreachable();\n", emit_line(e));
        break;
    case PTX_SLEEP:
        fputs("t->calls->sleep(t, ", e->out);
        emit_source(e, &s->operands[0], PTX_U32, false);
        fputs(");\n", e->out);
        break;
    case PTX_FENCE:
        fputs("__atomic_thread_fence(__ATOMIC_SEQ_CST);\n", e->out);
        break;
    case PTX_STACK:
        emit_stack(e);
        break;
    default:
        fputs(";\n", e->out);
        break;
    }
}

/* The n-th argument, read from where the call put it. */
static void emit_argument(struct emitter *e, unsigned n, const char *type)
{
    fprintf(e->out, "READ(%s, v%u)", type, e->statement->arguments[n].variable->id);
}

/* printf and related functions are functions of the library. False: another function. */
static bool emit_provided(struct emitter *e, uint32_t which)
{
    const struct ptx_statement *s = e->statement;
    static const struct {
        uint32_t which;
        unsigned arguments, results;
    } shapes[] = {{UNIT_PRINT, 2, 1}, {UNIT_ASSERT, 5, 0}, {UNIT_MALLOC, 1, 1}, {UNIT_FREE, 1, 0}};

    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (which == shapes[i].which &&
            (s->n_arguments != shapes[i].arguments || s->n_results != shapes[i].results))
            which = UNIT_NOTHING;
    if (which == UNIT_PRINT) {
        fprintf(e->out, "WRITE(uint32_t, v%u, t->calls->print(t, ", s->results[0].variable->id);
        emit_argument(e, 0, "uint64_t");
        fputs(", ", e->out);
        emit_argument(e, 1, "uint64_t");
        fputs("));\n", e->out);
    } else if (which == UNIT_ASSERT) {
        fputs("t->calls->assertion(t, ", e->out);
        emit_argument(e, 0, "uint64_t");
        fputs(", ", e->out);
        emit_argument(e, 1, "uint64_t");
        fputs(", ", e->out);
        emit_argument(e, 2, "uint32_t");
        fputs(", ", e->out);
        emit_argument(e, 3, "uint64_t");
        fputs("); __builtin_unreachable();\n", e->out);
    } else if (which == UNIT_MALLOC) {
        fprintf(e->out, "WRITE(uint64_t, v%u, t->calls->allocate(t, ", s->results[0].variable->id);
        emit_argument(e, 0, "uint64_t");
        fputs("));\n", e->out);
    } else if (which == UNIT_FREE) {
        fputs("t->calls->release(t, ", e->out);
        emit_argument(e, 0, "uint64_t");
        fputs(");\n", e->out);
    } else {
        return false;
    }
    return true;
}

void emit_call(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    uint32_t callee = s->prototype ? 0 : s->callee->routine->user;

    if (!s->prototype && callee >= e->unit->n_routines) {
        if (!emit_provided(e, callee))
            fprintf(e->out, "t->calls->fault(t, DEVICE_BAD_CALL, %u); __builtin_unreachable();\n",
                    emit_line(e));
        return;
    }
    if (s->prototype) {
        fputs("{ const uint64_t f_ = ", e->out);
        emit_source(e, s->callee, PTX_U64, false);
        fprintf(e->out,
                "; t->calls->check_function(t, f_, UINT64_C(%" PRIu64
                "), %u); ((void (*)(struct device_thread *",
                unit_shape(s->prototype->returns, s->prototype->parameters), emit_line(e));
        for (unsigned i = 0; i < s->n_results + s->n_arguments; i++)
            fputs(", unsigned char *", e->out);
        fputs("))f_)(t", e->out);
    } else {
        fprintf(e->out, "{ f%u(t", callee);
    }
    for (unsigned i = 0; i < s->n_results; i++)
        fprintf(e->out, ", v%u", s->results[i].variable->id);
    for (unsigned i = 0; i < s->n_arguments; i++)
        fprintf(e->out, ", v%u", s->arguments[i].variable->id);
    fputs("); }\n", e->out);
}
