/* What the readers of batond's configuration share. Each answers 0 when its key is absent. */
#ifndef DAEMON_CONFIG_READER_H
#define DAEMON_CONFIG_READER_H

#include "daemon/config.h"
#include "model/document.h"

struct reader {
    const struct document *document;
    const struct node *mapping;
    struct input_error *error;
};

int config_unsigned(const struct reader *reader, const char *key, int64_t low, int64_t high,
                    unsigned *ret_value);

/* `others` and `users`. */
int config_users(const struct reader *reader, struct config *config);

#endif
