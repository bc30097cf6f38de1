#include "cuda_cpu/driver/arrival.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"

#define FILE_MAGIC   UINT32_C(0x42434355)
#define FILE_VERSION 2u

enum {
    SLOTS = 256,      /* tickets that may wait at once; further threads wait for a slot first */
    SPINS = 2000,     /* looks before a waiting thread sleeps: some microseconds */
    LOOK_MS = 20,     /* how often a sleeping thread looks for dead processes */
    UNFILLED_MS = 200 /* a ticket whose slot stays empty for so long belongs to a dead process */
};

/* Written by the process that drew the ticket; ticket last, since it makes the rest valid. */
struct arrival_slot {
    _Atomic uint64_t ticket; /* + 1; 0: never used */
    _Atomic uint32_t process;
    _Atomic uint32_t signal; /* futex: changes when this ticket may be served */
};

struct arrival_engine {
    _Atomic uint64_t next, serving;
    struct arrival_slot slots[SLOTS];
};

struct arrival_page {
    _Atomic uint32_t magic;
    uint32_t version;
    struct arrival_engine engines[ARRIVAL_DEVICES][ARRIVAL_ENGINES];
};

struct arrival_file {
    struct arrival_page *page;
    int fd; /* has the lock of this process */
    uint32_t process;
};

/* --- processes --- */

/*
 * A process that uses the file has a lock on one byte of it, behind the page, at its number. The
 * kernel drops the lock when the process dies and when it becomes another program by exec(). A
 * forked child does not inherit it.
 */
static struct flock lock_of(uint32_t process, short type)
{
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)sizeof(struct arrival_page) + process,
                          .l_len = 1};
}

static bool is_dead(const struct arrival_file *file, const struct arrival_slot *slot)
{
    uint32_t process = atomic_load(&slot->process);
    struct flock about = lock_of(process, F_WRLCK);

    if (process == file->process) /* a process never finds its own lock */
        return false;
    return process == 0 || (fcntl(file->fd, F_GETLK, &about) == 0 && about.l_type == F_UNLCK);
}

/* --- the file --- */

static int name_file(char *ret_path, size_t room)
{
    const char *named = getenv("BATON_CUDA_CPU_ENGINES");
    int n = named && *named
                ? snprintf(ret_path, room, "%s", named)
                : snprintf(ret_path, room, "/dev/shm/baton-cuda-cpu-%u-%u", FILE_VERSION, (unsigned)getuid());

    return n > 0 && (size_t)n < room ? 0 : -ENAMETOOLONG;
}

/* Gives a new file its size. A file that another process is just making has the size already. */
static int check_file(int fd)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode) ||
        (about.st_uid != getuid() && about.st_uid != 0 && !getenv("BATON_CUDA_CPU_ENGINES")))
        return -EPERM;
    if (about.st_size == 0)
        return ftruncate(fd, sizeof(struct arrival_page)) < 0 ? -errno : 0;
    return about.st_size == sizeof(struct arrival_page) ? 0 : -EPROTO;
}

static int check_version(struct arrival_page *page)
{
    uint32_t fresh = 0;

    /* A page of zeros is a valid state of every engine, so only the mark is written. */
    if (atomic_compare_exchange_strong(&page->magic, &fresh, FILE_MAGIC + FILE_VERSION))
        return 0;
    return fresh == FILE_MAGIC + FILE_VERSION ? 0 : -EPROTO;
}

/* --- the queue of one engine --- */

static void wake(struct arrival_engine *engine, uint64_t ticket)
{
    struct arrival_slot *slot = &engine->slots[ticket % SLOTS];

    atomic_fetch_add(&slot->signal, 1);
    syscall(SYS_futex, &slot->signal, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Was the ticket given up by a process that lives on? */
static bool is_given_up(struct arrival_engine *engine, uint64_t ticket)
{
    const struct arrival_slot *slot = &engine->slots[ticket % SLOTS];

    return atomic_load(&engine->next) > ticket && atomic_load(&slot->ticket) == ticket + 1 &&
           atomic_load(&slot->process) == 0;
}

/* Ends the turn of this ticket. Tickets behind it that were given up are passed over. */
static void pass_on(struct arrival_engine *engine, uint64_t ticket)
{
    uint64_t served = ticket;

    while (atomic_compare_exchange_strong(&engine->serving, &served, ticket + 1)) {
        served = ++ticket;
        if (is_given_up(engine, ticket))
            continue;
        if (atomic_load(&engine->next) > ticket)
            wake(engine, ticket);
        return;
    }
}

/* Gives a waiting ticket up. Its turn may come while this runs. */
static void give_up(struct arrival_engine *engine, uint64_t ticket)
{
    atomic_store(&engine->slots[ticket % SLOTS].process, 0);
    if (atomic_load(&engine->serving) == ticket)
        pass_on(engine, ticket);
}

/* Passes over the ticket being served if its process is dead, or never filled its slot. */
static void pass_over_dead(const struct arrival_file *file, struct arrival_engine *engine, uint64_t *seen,
                           baton_nsec *seen_at)
{
    uint64_t serving = atomic_load(&engine->serving);
    const struct arrival_slot *slot = &engine->slots[serving % SLOTS];

    if (serving != *seen) {
        *seen = serving;
        *seen_at = clock_now();
    }
    if (serving >= atomic_load(&engine->next))
        return;
    if (atomic_load(&slot->ticket) == serving + 1
            ? is_dead(file, slot)
            : clock_now() - *seen_at > patience_limit(UNFILLED_MS * NSEC_PER_MS))
        pass_on(engine, serving);
}

static uint64_t draw(struct arrival_file *file, struct arrival_engine *engine)
{
    uint64_t ticket = atomic_fetch_add(&engine->next, 1);
    struct arrival_slot *slot = &engine->slots[ticket % SLOTS];

    atomic_store(&slot->process, file->process);
    atomic_store(&slot->ticket, ticket + 1);
    return ticket;
}

/* Sleeps until the ticket may have been served, LOOK_MS at most. */
static void sleep_on(struct arrival_engine *engine, uint64_t ticket)
{
    struct arrival_slot *slot = &engine->slots[ticket % SLOTS];
    const struct timespec limit = {.tv_nsec = LOOK_MS * NSEC_PER_MS};
    uint32_t before = atomic_load(&slot->signal);

    if (atomic_load(&engine->serving) < ticket)
        syscall(SYS_futex, &slot->signal, FUTEX_WAIT, before, &limit, NULL, 0);
}

/*
 * True: served, or `stop` was set. False: the ticket was passed over, because this process was
 * stopped for too long.
 */
static bool await(const struct arrival_file *file, struct arrival_engine *engine, uint64_t ticket,
                  const _Atomic bool *stop)
{
    uint64_t seen = UINT64_MAX, serving;
    baton_nsec seen_at = 0;

    for (unsigned looks = 0; (serving = atomic_load(&engine->serving)) < ticket; looks++) {
        if (looks < SPINS)
            continue;
        if (atomic_load(stop))
            return true;
        sleep_on(engine, ticket);
        pass_over_dead(file, engine, &seen, &seen_at);
    }
    return serving == ticket;
}

/*
 * More threads wait than the page has slots. A further ticket would share a slot with a waiting
 * one.
 */
static bool await_slot(const struct arrival_file *file, struct arrival_engine *engine,
                       const _Atomic bool *stop)
{
    uint64_t seen = UINT64_MAX;
    baton_nsec seen_at = 0;
    const struct timespec moment = {.tv_nsec = NSEC_PER_MS};

    while (atomic_load(&engine->next) - atomic_load(&engine->serving) >= SLOTS / 2) {
        if (atomic_load(stop))
            return false;
        nanosleep(&moment, NULL);
        pass_over_dead(file, engine, &seen, &seen_at);
    }
    return true;
}

bool arrival_enter(struct arrival_file *file, unsigned device, unsigned engine_kind, const _Atomic bool *stop,
                   uint64_t *ret_ticket)
{
    struct arrival_engine *engine = &file->page->engines[device][engine_kind];
    uint64_t ticket;

    do {
        if (!await_slot(file, engine, stop))
            return false;
        ticket = draw(file, engine);
    } while (!await(file, engine, ticket, stop));
    if (atomic_load(&engine->serving) < ticket) {
        give_up(engine, ticket);
        return false;
    }
    *ret_ticket = ticket;
    return true;
}

void arrival_leave(struct arrival_file *file, unsigned device, unsigned engine_kind, uint64_t ticket)
{
    pass_on(&file->page->engines[device][engine_kind], ticket);
}

uint64_t arrival_waiting(const struct arrival_file *file, unsigned device, unsigned engine_kind)
{
    const struct arrival_engine *engine = &file->page->engines[device][engine_kind];
    uint64_t serving = atomic_load(&engine->serving); /* read first: it never passes `next` */

    return atomic_load(&engine->next) - serving;
}

/* --- opening --- */

/* Gives up tickets that this process drew before it became another program by exec(). */
static void drop_former(struct arrival_file *file)
{
    for (struct arrival_engine *engine = file->page->engines[0];
         engine < file->page->engines[ARRIVAL_DEVICES - 1] + ARRIVAL_ENGINES; engine++)
        for (uint64_t ticket = atomic_load(&engine->serving); ticket < atomic_load(&engine->next); ticket++) {
            const struct arrival_slot *slot = &engine->slots[ticket % SLOTS];

            if (atomic_load(&slot->ticket) == ticket + 1 && atomic_load(&slot->process) == file->process)
                give_up(engine, ticket);
        }
}

static int open_file(struct arrival_file *file)
{
    char path[256];
    struct flock mine;
    int result = name_file(path, sizeof path);

    if (result < 0)
        return result;
    file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    result = file->fd < 0 ? -errno : check_file(file->fd);
    if (result < 0)
        return result;
    file->page = mmap(NULL, sizeof *file->page, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    result = file->page == MAP_FAILED ? -errno : check_version(file->page);
    if (result < 0)
        return result;
    file->process = (uint32_t)getpid();
    /* shared: a process of another container may have the same number */
    mine = lock_of(file->process, F_RDLCK);
    return fcntl(file->fd, F_SETLK, &mine) < 0 ? -errno : 0;
}

int arrival_open(struct arrival_file **ret_file)
{
    struct arrival_file *file = calloc(1, sizeof *file);
    int result;

    if (!file)
        return -ENOMEM;
    file->fd = -1;
    result = open_file(file);
    if (result < 0) {
        arrival_close(file);
        return result;
    }
    drop_former(file);
    *ret_file = file;
    return 0;
}

void arrival_close(struct arrival_file *file)
{
    if (file && file->page && file->page != MAP_FAILED)
        munmap(file->page, sizeof *file->page);
    if (file && file->fd >= 0)
        close(file->fd);
    free(file);
}
