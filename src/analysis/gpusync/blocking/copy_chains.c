#include "analysis/gpusync/blocking/copy_chains.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#ifdef HAVE_GLPK
#include <glpk.h>
#endif

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

struct chain_writer {
    struct copy_chain *chains;
    size_t n;
    bool full;
};

static void put(struct chain_writer *writer, unsigned in, unsigned out, unsigned peer)
{
    if (in + out + peer == 0)
        return;
    if (writer->n == COPY_CHAINS_MAX) {
        writer->full = true;
        return;
    }
    writer->chains[writer->n++] = (struct copy_chain){.count = {in, out, peer}};
}

/*
 * Chains with `peer` peer copies: up to `in` and `out` other requests, at most `room` together.
 * Writes only maximal pairs.
 */
static void put_pairs(struct chain_writer *writer, unsigned peer, unsigned in, unsigned out, unsigned room)
{
    in = smaller(in, room);
    out = smaller(out, room);
    for (unsigned i = in;; i--) {
        put(writer, i, smaller(out, room - i), peer);
        if (i == 0 || room - i >= out)
            return;
    }
}

/*
 * Limits of a chain with this many peer copies for g = 2 (docs/gpusync-analysis.md, "Chains"). a is
 * the GPU of the waiting request, b the other one.
 */
static void two_gpus(struct chain_writer *writer, enum copy_request own, unsigned rho, unsigned others)
{
    unsigned most = own == COPY_REQUEST_OUT ? rho : rho - 1;

    for (unsigned peer = 0; peer <= smaller(most, others); peer++) {
        unsigned room = others - peer;

        switch (own) {
        /*
         * in_a: copies in or pulls by holders of a; a pull adds out_b: copies out by holders of b
         */
        case COPY_REQUEST_IN:
            put_pairs(writer, peer, rho - 1 - peer, peer > 0 ? rho : 0, room);
            break;
        /*
         * out_a: copies out by holders of a, pulls by those of b; a pull adds in_b: copies in by
         * those of b
         */
        case COPY_REQUEST_OUT:
            put_pairs(writer, peer, peer > 0 ? rho - peer : 0, rho - 1, room);
            break;
        default: /* both in_a and out_b from the start */
            put_pairs(writer, peer, rho - 1 - peer, rho, room);
            break;
        }
    }
}

/*
 * More than two GPUs: one peer copy may connect all of them. Without peer copies only the GPU of
 * the request counts, and the source of its own pull.
 */
static void many_gpus(struct chain_writer *writer, enum copy_request own, unsigned rho, unsigned others)
{
    put_pairs(writer, 0, own == COPY_REQUEST_OUT ? 0 : rho - 1,
              own == COPY_REQUEST_IN ? 0 : (own == COPY_REQUEST_OUT ? rho - 1 : rho), others);
    for (unsigned peer = 1; peer <= others && !writer->full; peer++)
        put_pairs(writer, peer, others, others, others - peer);
}

size_t copy_chains_list(enum copy_request own, unsigned tokens, unsigned gpus, unsigned others,
                        struct copy_chain ret_chains[])
{
    struct chain_writer writer = {.chains = ret_chains};

    if (tokens == 0)
        return 0;
    if (gpus <= 2)
        two_gpus(&writer, own, tokens, others);
    else
        many_gpus(&writer, own, tokens, others);
    return writer.full ? 0 : writer.n;
}

size_t copy_chains_printed(enum copy_request own, struct copy_chain ret_chains[])
{
    /* The longest rows of Table VIII for each number of M; its shorter rows are parts of these. */
    static const char *const inbound[] = {"II",    "IOOOM", "IIIMM", "IIOMM", "IOOMM", "OOOMM",
                                          "IIMMM", "IOMMM", "OOMMM", "IMMMM", "OMMMM"};
    static const char *const outbound[] = {"OO",    "IIOOM", "IOOMM", "OOOMM", "IIMMM",
                                           "IOMMM", "OOMMM", "IMMMM", "OMMMM", "MMMMM"};
    const char *const *rows = own == COPY_REQUEST_IN ? inbound : outbound;
    size_t n =
        own == COPY_REQUEST_IN ? sizeof inbound / sizeof inbound[0] : sizeof outbound / sizeof outbound[0];

    if (own == COPY_REQUEST_PEER) /* the table has no such column */
        return 0;
    for (size_t k = 0; k < n; k++) {
        ret_chains[k] = (struct copy_chain){0};
        for (const char *letter = rows[k]; *letter; letter++)
            ret_chains[k].count[*letter == 'I'   ? COPY_REQUEST_IN
                                : *letter == 'O' ? COPY_REQUEST_OUT
                                                 : COPY_REQUEST_PEER]++;
    }
    return n;
}

#ifdef HAVE_GLPK

bool copy_chains_available(void)
{
    return true;
}

/*
 * Columns: x_c, how many own requests chain c delays; y_s, how many requests of supply s are in
 * chains. Rows: own requests per kind; per kind of other requests, places in chains against
 * requests in them; per other task its limit. Places and requests are equal for peer copies,
 * because a chain needs its peer copies to reach the rest. All variables are whole numbers.
 */
struct chain_program {
    const struct copy_chains_problem *problem;
    glp_prob *lp;
    int *row, *column;
    double *value;
    int n; /* entries, from 1 */
    int first_supply;
};

static void enter(struct chain_program *program, int row, int column, double value)
{
    program->n++;
    program->row[program->n] = row;
    program->column[program->n] = column;
    program->value[program->n] = value;
}

static void add_chains(struct chain_program *program)
{
    const struct copy_chains_problem *problem = program->problem;
    int column = 0;

    for (int own = 0; own < COPY_REQUESTS; own++) {
        glp_set_row_bnds(program->lp, 1 + own, GLP_UP, 0, problem->own[own]);
        for (size_t c = 0; c < problem->n_chains[own]; c++) {
            column++;
            glp_set_col_kind(program->lp, column, GLP_IV);
            glp_set_col_bnds(program->lp, column, GLP_LO, 0, 0);
            enter(program, 1 + own, column, 1);
            for (int kind = 0; kind < COPY_REQUESTS; kind++)
                if (problem->chains[own][c].count[kind] > 0)
                    enter(program, 4 + kind, column, -(double)problem->chains[own][c].count[kind]);
        }
    }
    for (int kind = 0; kind < COPY_REQUESTS; kind++)
        glp_set_row_bnds(program->lp, 4 + kind, kind == COPY_REQUEST_PEER ? GLP_FX : GLP_UP, 0, 0);
    program->first_supply = column + 1;
}

static void add_supplies(struct chain_program *program)
{
    const struct copy_chains_problem *problem = program->problem;
    /* row of a task, by its first supply */
    size_t *first = calloc(problem->n_supplies + 1, sizeof first[0]);

    for (size_t s = 0; s < problem->n_supplies; s++) {
        const struct copy_supply *supply = &problem->supplies[s];
        int column = program->first_supply + (int)s;

        glp_set_col_kind(program->lp, column, GLP_IV);
        if (supply->available > 0)
            glp_set_col_bnds(program->lp, column, GLP_DB, 0, supply->available);
        else
            glp_set_col_bnds(program->lp, column, GLP_FX, 0, 0);
        glp_set_obj_coef(program->lp, column, supply->length);
        enter(program, 4 + (int)supply->kind, column, 1);
        if (!first || isinf(problem->per_task))
            continue; /* a missing limit makes the answer larger, which is safe */
        for (size_t t = 0; t <= s && first[s] == 0; t++)
            if (problem->supplies[t].task == supply->task)
                first[s] = t < s ? first[t] : (size_t)glp_add_rows(program->lp, 1);
        glp_set_row_bnds(program->lp, (int)first[s], GLP_UP, 0, problem->per_task);
        enter(program, (int)first[s], column, 1);
    }
    free(first);
}

static double solve(glp_prob *lp)
{
    glp_smcp simplex;
    glp_iocp search;
    double relaxed;

    glp_init_smcp(&simplex);
    simplex.msg_lev = GLP_MSG_OFF;
    if (glp_simplex(lp, &simplex) != 0 || glp_get_status(lp) != GLP_OPT)
        return INFINITY;
    relaxed = glp_get_obj_val(lp);
    glp_init_iocp(&search);
    search.msg_lev = GLP_MSG_OFF;
    search.tm_lim = 1000;
    if (glp_intopt(lp, &search) != 0 || glp_mip_status(lp) != GLP_OPT)
        return relaxed;
    return glp_mip_obj_val(lp);
}

int copy_chains_solve(const struct copy_chains_problem *problem, double *ret_bound)
{
    struct chain_program program = {.problem = problem};
    size_t chains = problem->n_chains[0] + problem->n_chains[1] + problem->n_chains[2];
    size_t entries = chains * 4 + problem->n_supplies * 2 + 1;
    int r = -ENOMEM;

    if (chains + problem->n_supplies == 0) {
        *ret_bound = 0;
        return 0;
    }
    program.row = calloc(entries, sizeof program.row[0]);
    program.column = calloc(entries, sizeof program.column[0]);
    program.value = calloc(entries, sizeof program.value[0]);
    if (program.row && program.column && program.value) {
        program.lp = glp_create_prob();
        glp_set_obj_dir(program.lp, GLP_MAX);
        glp_add_rows(program.lp, 6);
        glp_add_cols(program.lp, (int)(chains + problem->n_supplies));
        add_chains(&program);
        add_supplies(&program);
        glp_load_matrix(program.lp, program.n, program.row, program.column, program.value);
        *ret_bound = solve(program.lp);
        glp_delete_prob(program.lp);
        r = 0;
    }
    free(program.row);
    free(program.column);
    free(program.value);
    return r;
}

#else

bool copy_chains_available(void)
{
    return false;
}

int copy_chains_solve(const struct copy_chains_problem *problem, double *ret_bound)
{
    (void)problem;
    (void)ret_bound;
    return -ENOSYS;
}

#endif
