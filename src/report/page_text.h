/* The style sheet and the script of every page, as text. */
#ifndef REPORT_PAGE_TEXT_H
#define REPORT_PAGE_TEXT_H

extern const char page_style[];
extern const char page_script[];

#endif
