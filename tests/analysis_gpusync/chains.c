/*
 * Copy-engine chains: the list against the lock queues themselves, the integer program against
 * enumeration and the paper's example.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/gpusync/blocking/copy_chains.h"
#include "base/random.h"
#include "harness.h"

enum { IN = COPY_REQUEST_IN, OUT = COPY_REQUEST_OUT, PEER = COPY_REQUEST_PEER };

/*
 * Two GPUs, a = 0 (mine) and b = 1. Every other token holder stands in the queues with one request,
 * or none: a copy in (in of its GPU), out, or a pull (in of its GPU and out of the other). A
 * holder delays me if it shares a queue with a request ahead of mine, or ahead of one that is. All
 * stand before me: the worst order.
 */
enum { IDLE = 3 };
enum { IN_A = 1, OUT_A = 2, IN_B = 4, OUT_B = 8 };

static unsigned queues(unsigned gpu, unsigned request)
{
    unsigned in = gpu == 0 ? IN_A : IN_B;
    unsigned out = gpu == 0 ? OUT_A : OUT_B;
    unsigned source = gpu == 0 ? OUT_B : OUT_A;

    if (request == IN)
        return in;
    if (request == OUT)
        return out;
    return request == PEER ? in | source : 0;
}

/*
 * Counts of the requests that delay mine, given what each of the others does (4 bits... one digit
 * of base 4 each).
 */
static struct copy_chain delays(enum copy_request own, unsigned rho, unsigned code)
{
    unsigned reached = queues(0, own);
    bool counted[16] = {false};
    struct copy_chain chain = {{0}};
    bool grew = true;

    while (grew) {
        grew = false;
        for (unsigned k = 0; k < 2 * rho - 1; k++) {
            unsigned request = code >> 2 * k & 3;
            unsigned gpu = k < rho - 1 ? 0 : 1;

            if (counted[k] || request == IDLE || (queues(gpu, request) & reached) == 0)
                continue;
            counted[k] = grew = true;
            reached |= queues(gpu, request);
            chain.count[request]++;
        }
    }
    return chain;
}

static bool covers(const struct copy_chain *chain, const struct copy_chain *part)
{
    return chain->count[PEER] == part->count[PEER] && chain->count[IN] >= part->count[IN] &&
           chain->count[OUT] >= part->count[OUT];
}

START_TEST(the_list_holds_exactly_what_the_lock_queues_of_two_gpus_allow)
{
    for (unsigned rho = 1; rho <= 4; rho++)
        for (int own = 0; own < COPY_REQUESTS; own++) {
            struct copy_chain chains[COPY_CHAINS_MAX];
            bool reached[COPY_CHAINS_MAX] = {false};
            size_t n = copy_chains_list((enum copy_request)own, rho, 2, 2 * rho - 1, chains);

            for (unsigned code = 0; code < 1u << 2 * (2 * rho - 1); code++) {
                struct copy_chain found = delays((enum copy_request)own, rho, code);
                bool covered = found.count[IN] + found.count[OUT] + found.count[PEER] == 0;

                for (size_t c = 0; c < n; c++) {
                    covered = covered || covers(&chains[c], &found);
                    reached[c] = reached[c] || memcmp(&chains[c], &found, sizeof found) == 0;
                }
                ck_assert_msg(covered, "rho %u, own %d, code %x", rho, own, code);
            }
            for (size_t c = 0; c < n; c++)
                ck_assert_msg(reached[c], "rho %u, own %d, chain %zu", rho, own, c);
        }
}
END_TEST

START_TEST(every_chain_of_two_gpus_is_among_those_of_more)
{
    struct copy_chain two[COPY_CHAINS_MAX];
    struct copy_chain more[COPY_CHAINS_MAX];

    for (unsigned rho = 1; rho <= 3; rho++)
        for (int own = 0; own < COPY_REQUESTS; own++) {
            size_t n = copy_chains_list((enum copy_request)own, rho, 2, 2 * rho - 1, two);
            size_t m = copy_chains_list((enum copy_request)own, rho, 4, 4 * rho - 1, more);

            for (size_t c = 0; c < n; c++) {
                bool covered = false;

                for (size_t d = 0; d < m; d++)
                    covered = covered || covers(&more[d], &two[c]);
                ck_assert(covered);
            }
        }
}
END_TEST

START_TEST(few_cpus_shorten_chains)
{
    struct copy_chain chains[COPY_CHAINS_MAX];
    size_t n = copy_chains_list(COPY_REQUEST_IN, 3, 2, 2, chains);

    ck_assert_uint_gt(n, 0);
    for (size_t c = 0; c < n; c++)
        ck_assert_uint_le(chains[c].count[IN] + chains[c].count[OUT] + chains[c].count[PEER], 2);
}
END_TEST

/*
 * Table VIII's costs, us: I = 1214.3, O = 1181.3, M = 175.68 (Table III, 1 MiB, worst case loaded).
 */
static struct copy_supply supply(enum copy_request kind, double available)
{
    static const double length[] = {1214.3, 1181.3, 175.68};

    return (struct copy_supply){.kind = kind, .length = length[kind], .available = available, .task = kind};
}

static double solve(const double own[COPY_REQUESTS], bool printed, unsigned rho,
                    const struct copy_supply supplies[], size_t n, double per_task)
{
    static struct copy_chain chains[COPY_REQUESTS][COPY_CHAINS_MAX];
    struct copy_chains_problem problem = {.supplies = supplies, .n_supplies = n, .per_task = per_task};
    double bound = -1;

    for (int kind = 0; kind < COPY_REQUESTS; kind++) {
        problem.own[kind] = own[kind];
        problem.chains[kind] = chains[kind];
        problem.n_chains[kind] =
            printed && kind != PEER
                ? copy_chains_printed((enum copy_request)kind, chains[kind])
                : copy_chains_list((enum copy_request)kind, rho, 2, 2 * rho - 1, chains[kind]);
    }
    ck_assert_int_eq(copy_chains_solve(&problem, &bound), copy_chains_available() ? 0 : -ENOSYS);
    return bound;
}

/*
 * App. E: N^I = 2 against {I,I,I,O,O,M,M}. Greedy takes IIIMM = 3994 and stops. With Table VIII the
 * worst is IOOMM + II: all of them, 3 x 1214.3 + 2 x 1181.3 + 2 x 175.68 = 6356.86 (the paper's
 * 5208 is not the worst either). With the chains that the queues allow it is IOOM + II = 1214.3 +
 * 2362.6 + 175.68 + 2428.6 = 6181.18: a request has only rho - 1 = 2 others on its own GPU.
 */
START_TEST(greedy_fails_on_the_papers_example_and_the_program_does_not)
{
    if (!copy_chains_available())
        return; /* built without glpk */
    const double own[] = {2, 0, 0};
    const struct copy_supply supplies[] = {supply(COPY_REQUEST_IN, 3), supply(COPY_REQUEST_OUT, 2),
                                           supply(COPY_REQUEST_PEER, 2)};

    ck_assert_double_eq_tol(solve(own, true, 3, supplies, 3, INFINITY), 6356.86, 1e-6);
    ck_assert_double_eq_tol(solve(own, false, 3, supplies, 3, INFINITY), 6181.18, 1e-6);
}
END_TEST

/*
 * rho 3, g 2, lengths M 3, I 2, O 2, available M 2, I 2, O 6; two copies in: two chains IOOOM = 22,
 * where equation (9) says 16.
 */
START_TEST(two_long_chains_exceed_equation_9)
{
    if (!copy_chains_available())
        return; /* built without glpk */
    const double own[] = {2, 0, 0};
    const struct copy_supply supplies[] = {
        {COPY_REQUEST_PEER, 3, 2, 0}, {COPY_REQUEST_IN, 2, 2, 1}, {COPY_REQUEST_OUT, 2, 6, 2}};

    ck_assert_double_eq_tol(solve(own, true, 3, supplies, 3, INFINITY), 22, 1e-9);
    ck_assert_double_eq_tol(solve(own, false, 3, supplies, 3, INFINITY), 22, 1e-9);
}
END_TEST

/* All ways to give own requests chains, and chains their requests; independent of glpk. */
static double enumerate(unsigned own_in, unsigned rho, double left[COPY_REQUESTS], const double length[])
{
    double best = 0;

    if (own_in == 0)
        return 0;
    for (unsigned peer = 0; peer <= rho - 1 && peer <= left[PEER]; peer++)
        for (unsigned in = 0; in + peer <= rho - 1 && in <= left[IN]; in++)
            for (unsigned out = 0; out <= (peer > 0 ? rho : 0) && out <= left[OUT]; out++) {
                double rest[] = {left[IN] - in, left[OUT] - out, left[PEER] - peer};
                double sum = in * length[IN] + out * length[OUT] + peer * length[PEER] +
                             enumerate(own_in - 1, rho, rest, length);

                best = sum > best ? sum : best;
            }
    return best;
}

START_TEST(small_programs_agree_with_enumeration)
{
    if (!copy_chains_available())
        return; /* built without glpk */
    struct random_state random;

    random_init(&random, 31, 0);
    for (size_t k = 0; k < harness_scale(400, 20000); k++) {
        unsigned rho = 1 + (unsigned)random_below(&random, 3);
        double own[] = {1.0 + (double)random_below(&random, 3), 0, 0};
        double left[] = {(double)random_below(&random, 5), (double)random_below(&random, 6),
                         (double)random_below(&random, 4)};
        double length[] = {1 + (double)random_below(&random, 9), 1 + (double)random_below(&random, 9),
                           1 + (double)random_below(&random, 9)};
        const struct copy_supply supplies[] = {{COPY_REQUEST_IN, length[0], left[0], 0},
                                               {COPY_REQUEST_OUT, length[1], left[1], 1},
                                               {COPY_REQUEST_PEER, length[2], left[2], 2}};

        ck_assert_double_eq_tol(solve(own, false, rho, supplies, 3, INFINITY),
                                enumerate((unsigned)own[0], rho, left, length), 1e-6);
    }
}
END_TEST

START_TEST(a_task_is_counted_at_most_as_often_as_allowed)
{
    if (!copy_chains_available())
        return; /* built without glpk */
    const double own[] = {3, 0, 0};
    const struct copy_supply supplies[] = {
        {COPY_REQUEST_IN, 5, 10, 7}, {COPY_REQUEST_IN, 4, 10, 7}, {COPY_REQUEST_IN, 1, 10, 8}};

    /* rho 3: two places for each of three requests; three of task 7 at 5, three of task 8 at 1. */
    ck_assert_double_eq_tol(solve(own, false, 3, supplies, 3, 3), 18, 1e-9);
    /* Without the limit: six at 5. */
    ck_assert_double_eq_tol(solve(own, false, 3, supplies, 3, INFINITY), 30, 1e-9);
}
END_TEST

HARNESS_MAIN("copy chains", 60, the_list_holds_exactly_what_the_lock_queues_of_two_gpus_allow,
             every_chain_of_two_gpus_is_among_those_of_more, few_cpus_shorten_chains,
             greedy_fails_on_the_papers_example_and_the_program_does_not, two_long_chains_exceed_equation_9,
             small_programs_agree_with_enumeration, a_task_is_counted_at_most_as_often_as_allowed)
