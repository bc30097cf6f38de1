/*
 * Intrusive doubly linked list; its head is itself a link. Links name their list: `struct list
 * link; -- x::ys`.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev, *next;
};

#define list_entry(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define list_for_each(at, head) for (struct list *at = (head)->next; at != (head); at = at->next)
#define list_for_each_safe(at, after, head)                                                                  \
    for (struct list *at = (head)->next, *after = at->next; at != (head); at = after, after = at->next)

static inline void list_init(struct list *link)
{
    link->prev = link->next = link;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_insert_before(struct list *at, struct list *link)
{
    link->prev = at->prev;
    link->next = at;
    at->prev->next = link;
    at->prev = link;
}

static inline void list_append(struct list *head, struct list *link)
{
    list_insert_before(head, link);
}

/* Unlinks, and leaves the link as an empty list, so that removing it twice is harmless. */
static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

#endif
