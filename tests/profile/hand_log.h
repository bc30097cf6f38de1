/* A log of a profiled program, written by hand. */
#ifndef TESTS_HAND_LOG_H
#define TESTS_HAND_LOG_H

#include "cli/profile/align.h"

#define US NSEC_PER_US

/*
 * A log that is written by hand, command by command; times in microseconds from 0, driver clock =
 * ours + skew.
 */
struct log_text {
    char text[1 << 16];
    size_t used;
    int64_t skew; /* ns to add to our clock to get the driver's */
};

void begin_log(struct log_text *log);
void command(struct log_text *log, uint32_t job, enum engine_kind engine, const char *name, int64_t start_us,
             int64_t end_us);
void job(struct log_text *log, uint32_t number, int64_t begin_us, int64_t end_us, uint32_t commands);
/*
 * In, kernel of so many microseconds, out; begins at begin_us with 10 us of CPU before each command
 * and after the last.
 */
void frame(struct log_text *log, uint32_t number, int64_t begin_us, int64_t kernel_us);
void align(const struct log_text *text, size_t warm, struct profile_log *log, struct profile_task *task);

#endif
