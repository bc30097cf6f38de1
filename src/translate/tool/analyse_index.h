/*
 * The index of an access, read from the text of a kernel as a sum of products (sum.h). Factors are
 * numbers, kernel parameters that never change, sizes of the launch, and digits. A digit is an id,
 * a counter of a `for`, or a part of a division. A variable that gets only one value is replaced by
 * it. Pure functions over the syntax tree.
 */
#ifndef TRANSLATE_TOOL_ANALYSE_INDEX_H
#define TRANSLATE_TOOL_ANALYSE_INDEX_H

#include "translate/tool/sum.h"
#include "translate/tool/syntax.h"

struct index_text {
    const struct syntax *syntax;
    struct syntax_node *body; /* of the kernel */
};

/* False: the index has another form, or is too long. */
bool index_read(const struct index_text *text, struct syntax_node *node, struct sum *ret_sum);

/* The only value that the variable ever has; NULL: it changes, or is unknown. */
struct syntax_node *index_only_value(const struct index_text *text, const struct symbol *symbol);

/* Nothing in the kernel gives the variable or parameter another value. */
bool index_never_changes(const struct index_text *text, const struct symbol *symbol);

#endif
