/*
 * Cutting CUDA kernels: rewrites a PTX module so that its kernels can run in pieces.
 *
 * Every entry that can be cut gets a sibling in the same module, so module variables are shared.
 * The sibling has the entry's linkage, directives, parameters and body, and one parameter more, the
 * last: a struct ptx_piece (ptx/cut/ptx_piece.h). The original text is kept unchanged, and siblings
 * follow it, so that a module can be loaded once and each launch decides.
 *
 * An entry is cut only if its blocks cannot tell pieces from the whole launch. In doubt it stays
 * whole, with a reason from reasons.def and the line of the PTX text that decides. ptx/cut/waits.h
 * says which loops count as waiting for other blocks.
 *
 * ptx_cut() is a pure function over bytes, which may be anything. A program under Baton does not
 * call it: translate/translate_cut.h runs it in a child process and keeps the answers on disk.
 */
#ifndef PTX_CUT_PTX_CUT_H
#define PTX_CUT_PTX_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why an entry is not cut. */
enum ptx_whole {
    PTX_CUT, /* it is cut */
#define PTX_WHOLE(id, name, sentence, help) PTX_WHOLE_##id,
#include "ptx/cut/reasons.def"
#undef PTX_WHOLE
    PTX_N_WHOLE
};

/*
 * The name in docs/cuda-pieces.md ("waits-for-blocks"); about the kernel; what a user can do. "":
 * PTX_CUT.
 */
const char *ptx_whole_name(enum ptx_whole reason);
const char *ptx_whole_sentence(enum ptx_whole reason);
const char *ptx_whole_help(enum ptx_whole reason);

/* A parameter of a kernel: its place in a parameter buffer. Bytes. */
struct ptx_cut_parameter {
    uint32_t offset, size;
};

struct ptx_cut_entry {
    char *name;            /* of the kernel */
    char *piece_name;      /* of its sibling; "" when it is not cut */
    enum ptx_whole reason; /* PTX_CUT: piece_name is the sibling */
    uint32_t line;         /* the line of the text, from 1, that is the reason; 0: none */
    char *detail;          /* the text of that line, at most 200 bytes; "" when the entry is cut */
    uint32_t n_parameters; /* the kernel's own: also the descriptor's index in kernelParams */
    struct ptx_cut_parameter *parameters; /* n_parameters of them */
    uint32_t bytes;                       /* bytes of the kernel's own parameters */
    uint32_t piece_offset; /* offset of the descriptor in a parameter buffer (`extra`), if it is cut */
};

struct ptx_cut {
    char *text; /* of the rewritten module, `size` bytes and a 0; NULL when no entry is cut */
    size_t size;
    struct ptx_cut_entry *entries; /* every entry that the text defines, in order */
    size_t n_entries;
    /* If the text as a whole cannot be cut (it cannot be read): why, and where; else PTX_CUT. */
    enum ptx_whole reason;
    uint32_t line;
    char *detail; /* "" if there is no detail */
};

/*
 * Rewrites text[0..size); zeros at its end are ignored. 0: *ret_cut is the answer, also when
 * nothing could be cut; the caller frees it with ptx_cut_done(). -ENOMEM: nothing is held.
 */
int ptx_cut(const char *text, size_t size, struct ptx_cut *ret_cut);
void ptx_cut_done(struct ptx_cut *cut); /* accepts a zeroed struct */

/* A copy of all that an entry owns. 0; or -ENOMEM: nothing is held. */
int ptx_cut_entry_copy(const struct ptx_cut_entry *entry, struct ptx_cut_entry *ret_copy);

/* The entry of that name, borrowed from the answer, or NULL. */
const struct ptx_cut_entry *ptx_cut_find(const struct ptx_cut *cut, const char *name);

#endif
