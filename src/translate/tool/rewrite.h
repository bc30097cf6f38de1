/* Passes the descriptor of translate/piece.h through all functions of a program that need it. */
#ifndef TRANSLATE_TOOL_REWRITE_H
#define TRANSLATE_TOOL_REWRITE_H

#include "translate/tool/analyse.h"

/*
 * Appends to out what the rewritten program needs before its text, and the text with every kernel
 * taking the hidden argument. analyse() must have run. Refuses what it cannot rewrite for certain.
 */
void rewrite(struct syntax *syntax, enum translate_mode mode, struct text *out);

#endif
