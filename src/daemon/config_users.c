/* Limits of users, and the tasks that belong to them. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_reader.h"

static int read_limits(const struct reader *reader, struct config_user *user)
{
    int result = config_unsigned(reader, "ceiling", 1, 99, &user->ceiling);

    return result ? result : config_unsigned(reader, "clients", 0, CONFIG_MAX_CLIENTS, &user->clients);
}

/* A user by name or number. */
static int read_user_id(const struct reader *reader, uid_t *ret_uid)
{
    const struct node *node = node_get(reader->mapping, "user");
    const struct passwd *entry;
    const char *text;
    char *end;
    unsigned long uid;
    int result;

    if (!node)
        return document_reject(reader->document, reader->mapping, reader->error, "user: NAME or number");
    result = node_text(reader->document, node, "a user", &text, reader->error);
    if (result)
        return result;
    uid = strtoul(text, &end, 10);
    if (end != text && !*end && uid < UINT32_MAX && text[0] != '-') {
        *ret_uid = (uid_t)uid;
        return 0;
    }
    entry = getpwnam(text);
    if (!entry)
        return document_reject(reader->document, node, reader->error, "a user of this machine");
    *ret_uid = entry->pw_uid;
    return 0;
}

/* `tasks: [NAME, ...]` of a user. */
static int read_claims(const struct reader *reader, uid_t uid, struct config *config)
{
    const struct node *list = node_get(reader->mapping, "tasks");
    int result = list ? node_expect_sequence(reader->document, list, "a list of tasks", reader->error) : 0;

    for (const struct node *node = list && !result ? list->first : NULL; node; node = node->next) {
        struct config_claim *claim = &config->claims[config->n_claims];
        const char *name;

        result = node_text(reader->document, node, "a task's name", &name, reader->error);
        if (result)
            return result;
        if (!*name || strlen(name) >= sizeof claim->task)
            return document_reject(reader->document, node, reader->error, "a name of 1 to %d bytes",
                                   CONFIG_TASK_SIZE - 1);
        if (config->n_claims == CONFIG_MAX_CLAIMS)
            return document_reject(reader->document, node, reader->error, "at most %d tasks of users",
                                   CONFIG_MAX_CLAIMS);
        claim->uid = uid;
        memcpy(claim->task, name, strlen(name) + 1);
        config->n_claims++;
    }
    return result;
}

int config_users(const struct reader *reader, struct config *config)
{
    static const char *const keys[] = {"user", "ceiling", "clients", "tasks", NULL};
    static const char *const other_keys[] = {"ceiling", "clients", NULL};
    const struct node *others = node_get(reader->mapping, "others");
    const struct node *users = node_get(reader->mapping, "users");
    int result = 0;

    if (others) {
        struct reader inner = {reader->document, others, reader->error};

        result = node_expect_mapping(reader->document, others, other_keys, reader->error);
        if (!result)
            result = read_limits(&inner, &config->others);
    }
    if (result || !users)
        return result;
    result = node_expect_sequence(reader->document, users, "a list of users", reader->error);
    if (result)
        return result;
    config->n_users = config->n_claims = 0;
    for (const struct node *node = users->first; node && !result; node = node->next) {
        struct reader inner = {reader->document, node, reader->error};
        struct config_user *user = &config->users[config->n_users];

        if (config->n_users == CONFIG_MAX_USERS)
            return document_reject(reader->document, node, reader->error, "at most %d users",
                                   CONFIG_MAX_USERS);
        *user = config->others;
        result = node_expect_mapping(reader->document, node, keys, reader->error);
        if (!result)
            result = read_user_id(&inner, &user->uid);
        if (!result)
            result = read_limits(&inner, user);
        if (!result)
            result = read_claims(&inner, user->uid, config);
        config->n_users++;
    }
    return result;
}
