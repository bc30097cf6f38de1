/*
 * What the makespan analysis is about: a kernel instruction string (Makespan, sec. III-D), the
 * multiprocessor that runs it and how many warps run it together. Every instruction takes one
 * cycle; slower or scarcer units are expressed by repeating letters first (sec. III-E,
 * kernel_normalise).
 */
#ifndef MAKESPAN_KERNEL_H
#define MAKESPAN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/input_error.h"

/* The kinds of computational units, in the order of the letters "LCSD". */
enum kernel_unit { UNIT_L, UNIT_C, UNIT_S, UNIT_D, N_UNITS };

#define UNIT_LETTERS "LCSD"

/*
 * Limits of accepted input: enough for real kernels, small enough that no input can exhaust the
 * machine.
 */
#define KERNEL_MAX_INSTRUCTIONS ((size_t)1 << 20)
#define KERNEL_MAX_WARPS        4096u
#define KERNEL_MAX_ELEMENTS     ((size_t)1 << 22) /* instructions x warps */
#define KERNEL_MAX_UNITS        255u              /* warps per cycle on one unit, and in all */
#define KERNEL_MAX_LATENCY      1024u

/*
 * A mark on an instruction: after it the warp waits at a barrier until every warp of its group has
 * executed this instruction. All of them may continue in the next cycle.
 */
#define KERNEL_BARRIER    0x80u
#define KERNEL_UNIT(mark) ((mark) & (KERNEL_BARRIER - 1))

struct kernel {
    /* owned; enum kernel_unit of each instruction, KERNEL_BARRIER added where a barrier follows */
    uint8_t *units;
    size_t n;
};

/*
 * The question, with single-cycle instructions only; borrowed while it is answered. It has no
 * barriers: parts.h cuts a kernel at its barriers.
 */
struct problem {
    const uint8_t *units; /* n letters without marks */
    size_t n;
    unsigned warps;
    /* sigma_u: warps that may execute on unit u in one cycle; at least 1 */
    unsigned capacity[N_UNITS];
    unsigned issue; /* sigma: instructions issued per cycle in all; 0: no cap */
};

/*
 * How one multiprocessor differs from single-cycle units of one warp each; zeroed fields mean no
 * difference.
 */
struct kernel_timing {
    unsigned latency[N_UNITS]; /* cycles an instruction takes, 0 or 1: one */
    unsigned count[N_UNITS];   /* physical units; 0: capacity[] counts */
    unsigned warp_size;        /* threads of a warp, needed with count[] */
};

/*
 * Reads a string such as LLCC, 2L2C or 2L/2C (blanks allowed); a slash is a barrier. A barrier
 * before the first instruction or behind another barrier has no effect. An error gives name as its
 * file, and counts characters as columns. 0, -ENOMEM or INPUT_REJECTED: empty, an unknown letter, a
 * count of zero or no letter after it, too long.
 */
int kernel_parse(const char *text, size_t length, const char *name, struct kernel *ret_kernel,
                 struct input_error *ret_error);

void kernel_done(struct kernel *kernel);

/* The string in its short form, 5L9C/2L9C; the caller frees it. NULL: no memory. */
char *kernel_format(const uint8_t *units, size_t n);

/*
 * Sec. III-E: repeats each instruction on unit u latency x ceil(warp_size / count) times. The
 * capacity becomes max(1, floor(count / warp_size)); if count is 0, capacity[u] stays. Powers of
 * two give the paper's numbers. Other numbers are rounded to more and slower work, which
 * bound_cheap() covers, but no exact worst case does. A barrier stays behind the last repetition.
 * 0, -ENOMEM or INPUT_REJECTED (too long when expanded).
 */
int kernel_normalise(const struct kernel *kernel, const struct kernel_timing *timing,
                     unsigned capacity[N_UNITS], struct kernel *ret_kernel, struct input_error *ret_error);

/*
 * How long one instruction before normalisation occupies its share of the multiprocessor: its
 * repetitions / the capacity after it.
 */
void kernel_weights(const struct kernel_timing *timing, const unsigned capacity[N_UNITS],
                    double ret_weights[N_UNITS]);

/* How many instructions of each unit the string has; marks do not matter. */
void kernel_count(const uint8_t *units, size_t n, size_t ret_count[N_UNITS]);

#endif
