/* PTX in baton-translate: the answer to a question, and what people see of a file. */
#ifndef TRANSLATE_TOOL_CUT_TOOL_H
#define TRANSLATE_TOOL_CUT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is the message, which record_check() accepts, a question about PTX? */
bool cut_tool_is_question(const uint8_t *message, size_t length, const char **ret_text, size_t *ret_size);

/* Writes the answer to standard output. An exit status. */
int cut_tool_answer(const char *text, size_t size);

/*
 * For people: the rewritten text on standard output, and a line for each kernel on standard error.
 * An exit status: 1 when nothing could be cut.
 */
int cut_tool_show(const char *path, const char *text, size_t size);

#endif
