/* Groups of leases, and the commands that begin within them. */
#include "client/lease.h"
#include "client/protocol_private.h"

/*
 * Takes the idle leases, so that no other thread can begin on them. False: a thread uses one of
 * them; *ret_begun are those taken.
 */
static bool take_idle(struct protocol *protocol, uint32_t leases, uint32_t *ret_begun)
{
    *ret_begun = 0;
    for (uint32_t rest = leases; rest; rest &= rest - 1) {
        unsigned index = (unsigned)__builtin_ctz(rest);
        struct protocol_lease *lease = &protocol->leases[index];
        uint64_t seen = 0;

        if (!lease->asked && lease_word_begin(lease->word, &seen)) {
            *ret_begun |= UINT32_C(1) << index;
        } else if (lease->asked || lease_word_state(seen) == LEASE_STATE_BUSY) {
            /*
             * Flags the word as the daemon would: the end takes the slow path, and the reaper is
             * told.
             */
            if (!lease->asked && !lease->grouped)
                (void)atomic_compare_exchange_strong(lease->word, &seen, seen | LEASE_ASK_TURN);
            return false;
        }
    }
    return true;
}

int protocol_group_request(struct protocol *protocol, uint32_t leases)
{
    struct frame frame = {.type = FRAME_GROUP};
    uint32_t begun;
    uint32_t epoch = 0;

    if (!take_idle(protocol, leases, &begun)) {
        for (; begun; begun &= begun - 1)
            protocol_end(protocol, (unsigned)__builtin_ctz(begun));
        return LEASE_TAKEN;
    }
    for (uint32_t rest = leases; rest; rest &= rest - 1) {
        const struct protocol_lease *lease = &protocol->leases[__builtin_ctz(rest)];

        epoch = lease->epoch > epoch ? lease->epoch : epoch;
    }
    epoch++;
    for (uint32_t rest = leases; rest; rest &= rest - 1) {
        unsigned index = (unsigned)__builtin_ctz(rest);
        struct protocol_lease *lease = &protocol->leases[index];

        lease->epoch = epoch;
        if (!protocol_managed(protocol, lease))
            continue;
        if (begun >> index & 1)
            lease_word_give(lease->word);
        lease->asked = true;
        lease->declared = false;
        frame.group.leases |= UINT32_C(1) << index;
    }
    frame.group.epoch = epoch;
    if (!frame.group.leases)
        return LEASE_BEGUN;
    protocol_put(protocol, &frame);
    return LEASE_ASK;
}

bool protocol_group_granted(struct protocol *protocol, uint32_t leases, unsigned *ret_waiting)
{
    for (uint32_t rest = leases; rest; rest &= rest - 1) {
        unsigned index = (unsigned)__builtin_ctz(rest);

        if (protocol->leases[index].asked && !protocol_granted(protocol, index)) {
            *ret_waiting = index;
            return false;
        }
    }
    for (uint32_t rest = leases; rest; rest &= rest - 1)
        atomic_store(&protocol->leases[__builtin_ctz(rest)].grouped, true);
    return true;
}

uint32_t protocol_group_end(struct protocol *protocol, uint32_t leases)
{
    struct frame frame = {.type = FRAME_GROUP_RELEASE};
    uint32_t kept = 0;

    for (uint32_t rest = leases; rest; rest &= rest - 1) {
        unsigned index = (unsigned)__builtin_ctz(rest);
        struct protocol_lease *lease = &protocol->leases[index];

        atomic_store(&lease->grouped, false);
        if (lease->nested) {
            lease->nested = false;
            kept |= UINT32_C(1) << index;
        } else if (protocol_managed(protocol, lease)) {
            frame.group_release.leases |= UINT32_C(1) << index;
            frame.group_release.epoch = lease->epoch;
            lease_word_give(lease->word);
            lease->declared = false;
        } else {
            protocol_end_private(lease);
        }
    }
    if (frame.group_release.leases)
        protocol_put(protocol, &frame);
    return kept;
}

bool protocol_nest(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];

    if (!atomic_load(&lease->grouped) || lease->nested)
        return false;
    lease->nested = true;
    return true;
}

bool protocol_unnest(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];

    if (!atomic_load(&lease->grouped))
        return false;
    lease->nested = false;
    return true;
}
