/* Threads the descriptor of translate/piece.h through a program. */
#ifndef TRANSLATE_TOOL_REWRITE_H
#define TRANSLATE_TOOL_REWRITE_H

#include "translate/tool/analyse.h"

/*
 * Appends to out: what the rewritten program needs ahead of it, and its text with every kernel
 * taking the hidden argument. Needs analyse() to have run. Refuses what it cannot rewrite for
 * certain.
 */
void rewrite(struct syntax *syntax, enum translate_mode mode, struct text *out);

#endif
