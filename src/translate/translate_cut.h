/*
 * Cuts CUDA kernels (ptx/cut/ptx_cut.h) on behalf of the application's process. Looks into the disk
 * cache, else asks the program baton-cut, a separate process with bounded time and memory.
 *
 * Thread-safe; keeps no state. The cache is that of translate/translate.h. The program: BATON_CUT,
 * else `baton-cut` in the places of translate/ask.h. It is separate from baton-translate because
 * loading clang's library alone takes 17 ms of processor time.
 */
#ifndef TRANSLATE_TRANSLATE_CUT_H
#define TRANSLATE_TRANSLATE_CUT_H

#include "ptx/cut/ptx_cut.h"

/*
 * Cuts text[0..size). 0: *ret_cut is the answer, which the caller frees with ptx_cut_done(). If the
 * environment fails, the answer has no entry, and its reason and detail say why. -ENOMEM: nothing
 * is held. *ret_from_cache may be NULL.
 */
int translate_cut(const char *text, size_t size, struct ptx_cut *ret_cut, bool *ret_from_cache);

#endif
