/*
 * A question and an answer about cutting PTX as messages (translate/record.h). The answer contains
 * only what was added to the program's text, because the asking process has the text itself.
 */
#ifndef TRANSLATE_CUT_RECORD_H
#define TRANSLATE_CUT_RECORD_H

#include "ptx/cut/ptx_cut.h"
#include "translate/record.h"

/* The one record of a question. */
#define CUT_QUESTION "ptx "

/* The writer owns the message; 0, -ENOMEM or -EFBIG. `size` is that of the text that was cut. */
int cut_encode(const struct ptx_cut *cut, size_t size, struct record_writer *ret_writer);

/* Decodes any bytes, given the text that was cut. 0, -EBADMSG or -ENOMEM. */
int cut_decode(const uint8_t *bytes, size_t n, const char *text, size_t size, struct ptx_cut *ret_cut);

/* Bytes of the text without the zeros at its end. */
size_t cut_text_size(const char *text, size_t size);

#endif
