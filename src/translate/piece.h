/*
 * A piece: a half-open range of a kernel's flattened work-groups, and how to launch it.
 *
 * The rewritten kernel takes one hidden argument after its own: a struct piece by value. It
 * describes the whole launch and where the piece begins; the kernel computes its group id from it.
 * The driver sees a launch of shape (n * lx, ly, lz) with the program's own local size and
 * work_dim, and no offset. Some drivers compute wrong values with an offset
 * (base/driver_quirks.def), and a linear range of groups needs none.
 */
#ifndef TRANSLATE_PIECE_H
#define TRANSLATE_PIECE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The hidden argument, byte for byte as the kernel declares it: clSetKernelArg(kernel,
 * translate_kernel.n_args, sizeof piece, &piece). Division by groups[0] and groups[1] is done by
 * multiplication (Granlund and Montgomery, "Division by Invariant Integers using Multiplication",
 * fig. 4.1), because a division per work-item would cost more than a small kernel's body.
 */
struct piece {
    uint64_t offset[3]; /* the application's global_work_offset, in work-items */
    uint32_t groups[3]; /* of the whole launch; 1 in unused dimensions */
    uint32_t first;     /* the piece's first flattened group: x + groups[0] * (y + groups[1] * z) */
    uint32_t magic[2];  /* multipliers for groups[0] and groups[1] */
    uint32_t work_dim;
    uint32_t shift; /* shifts, 8 bits each: first and second of groups[0], then of groups[1] */
};

/* One clEnqueueNDRangeKernel as the application called it. Unused dimensions are ignored. */
struct piece_launch {
    uint32_t work_dim;
    size_t offset[3];
    size_t global[3];
    size_t local[3];
};

enum piece_answer {
    /* global is not a multiple of local: the remainder groups differ in size */
    PIECE_NOT_UNIFORM = 1,
    /* 2^32 groups or more in all, or a launch that cannot be expressed */
    PIECE_TOO_MANY,
};

/*
 * Fills the descriptor of the whole launch (first = 0) and the number of groups. 0 or an enum
 * piece_answer.
 */
int piece_of_launch(const struct piece_launch *launch, struct piece *ret_piece, uint32_t *ret_n_groups);

/*
 * The driver's launch for groups [begin, end), begin < end <= the number of groups. Sets
 * piece->first and the global size. The offset is 0; the local size and work_dim are the
 * application's. PIECE_TOO_MANY if n * lx does not fit the device's address_bits: cut smaller.
 */
int piece_range(struct piece *piece, const struct piece_launch *launch, uint32_t begin, uint32_t end,
                uint32_t address_bits, size_t ret_global[3]);

#endif
