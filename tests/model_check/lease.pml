/*
 * The lease protocol for spin: one engine, two clients, one daemon, crashes of either side. The
 * lease words and the rules are those of src/wire/lease_word.h, src/client/protocol.c,
 * src/client/lease_linger.c and src/daemon/arbiter.c:
 *
 *   - the daemon calls a word in with ONE atomic step: BUSY becomes flagged, IDLE becomes NONE;
 *   - before a request is granted, the holder's word is called in, and a flagged holder answers
 *     with a message;
 *   - a holder may go on with its next command in the same hold; TURN, which only an equal's
 *     request sets, ends that;
 *   - a hold that only a less urgent client waits for may linger at its end: it stays BUSY without
 *     a user until the program is back, or until the client gives it up;
 *   - a client whose connection ended keeps the engine until it has drained (its word says so, or
 *     the process is gone);
 *   - after a daemon's death the words move to private memory, and a client declares to the next
 *     daemon what is busy; that daemon grants nothing before every living client has spoken
 *     (settling).
 *
 * Checked: a client that was granted the engine by a daemon is never inside together with another
 * such client; no invalid end state, so a request is served once the faults are over (FAULTS bounds
 * their number); no holder goes on past an equal that the daemon knows of, and none leaves with
 * more to do for a less urgent client. EQUALS 0: client 0 is the more urgent one.
 *
 * Copies in both directions of a device are one engine here, as in src/engine/engine_device.h.
 *
 * MUTANT selects a broken protocol that the check must catch:
 *   1  the daemon takes an idle lease with a load and a store instead of one atomic step
 *   2  the client keeps the lease IDLE at its end although it is flagged
 *   3  the daemon frees the engine of a dead client before its work has drained
 *   4  a restarted daemon grants before the survivors have declared what they run
 *   5  every waiting client sets TURN, also a less urgent one
 *   6  a holder that is granted the engine while an equal waits is not told so
 *   7  a client that moves to another page leaves the old word as it was: a thread that has looked
 *      there falls asleep on it
 *   8  a hold that lingers is never given up
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef WORK
#define WORK 2 /* how often each client wants the engine */
#endif

#ifndef EQUALS
#define EQUALS 1
#endif

#define NONE 0
#define IDLE 1
#define BUSY 2

#define FREE     0 /* the daemon's truth about each client's lease */
#define WAITING  1
#define HELD     2
#define DECLARED 3

byte word[2];     /* state in the shared page of the present connection */
bool flagged[2];  /* YIELD or WANTED */
bool turn[2];     /* TURN: never without WANTED */
bool connected[2]; /* the client's page is the present daemon's */
bool alive[2] = true;
bool draining[2];  /* a dead client's work is still on the engine */
bool private_busy[2]; /* passing through: held without any daemon */
bool declared[2];  /* the hold in the present page is one that was declared, not granted */
bool asked[2];     /* a request is under way */
bool looked[2];    /* the waiting thread has read NONE and is about to sleep on it ... */
bool stale[2];     /* ... which the word there is no more */
bool asleep[2];    /* futex: woken by a change of the word */
bool lingers[2];   /* BUSY, and the program is expected back */
bool told[2];      /* the daemon is done with telling the holder who waits */

chan to_daemon[2] = [3] of { mtype };
mtype = { request, release, busy_attach, idle_attach };

byte truth[2];    /* of the daemon that lives */
bool daemon_alive = true;
bool settling;    /* a new daemon waits for declarations */
bool spoken[2];   /* has attached to the present daemon */
byte generation;  /* of the daemon that lives ... */
byte mine[2];     /* ... and of the one that each client is connected to */
byte faults;

/* The truth, which no party of the protocol sees. */
bool inside[2];    /* running */
bool scheduled[2]; /* ... because a daemon said so */

#define other(i) (1 - (i))
#if MUTANT == 5
#define claims(i) true
#else
#define claims(i) (EQUALS || (i) == 0) /* has client i a claim to turns with the other? */
#endif

/* ---- client ---- */

inline enter(i, by_daemon) {
    inside[i] = true;
    scheduled[i] = by_daemon;
    assert(!(scheduled[0] && scheduled[1] && (inside[0] || draining[0]) && (inside[1] || draining[1])));
}

inline leave(i) {
    inside[i] = false;
    scheduled[i] = false;
}

/* The end of a hold: keep it IDLE, or give it up with a message. */
inline finish(i) {
    atomic {
        leave(i);
        /* With more to do, it left because of the flag, which no less urgent client may set. */
        assert(!turn[i] || declared[i] || !connected[i] || EQUALS || i == 1);
        if
        :: !connected[i] -> private_busy[i] = false
        :: connected[i] && !flagged[i] -> word[i] = IDLE
        :: connected[i] && flagged[i] && !turn[i] -> lingers[i] = true
#if MUTANT == 2
        :: connected[i] && flagged[i] -> word[i] = IDLE; flagged[i] = false; turn[i] = false
#else
        :: connected[i] && flagged[i] ->
            word[i] = NONE; flagged[i] = false; turn[i] = false; to_daemon[i]!release
#endif
        fi
    }
}

/* The program is not back in time, or a client waits that is no less urgent. */
inline give_up(i) {
    lingers[i] = false;
    if
    :: !connected[i] -> private_busy[i] = false
    :: else -> word[i] = NONE; flagged[i] = false; turn[i] = false; to_daemon[i]!release
    fi
}

/* The daemon died: words move to private memory. The next daemon: declare. */
inline notice(i) {
    atomic {
        connected[i] = false;
#if MUTANT != 7
        stale[i] = true;
#endif
        asleep[i] = false;
        private_busy[i] = inside[i] || asked[i] || lingers[i]; /* what was asked for is free now */
        word[i] = NONE;
        flagged[i] = false;
        turn[i] = false
    }
}

inline attach(i) {
    atomic {
        connected[i] = true;
        mine[i] = generation;
        if
        :: private_busy[i] ->
            word[i] = BUSY; flagged[i] = true; turn[i] = true; declared[i] = true;
            to_daemon[i]!busy_attach
        :: else -> word[i] = NONE; flagged[i] = false; turn[i] = false; to_daemon[i]!idle_attach
        fi;
        private_busy[i] = false
    }
}

proctype Client(byte i) {
    byte wants = WORK;

    do
    /* begin: one compare-and-swap, no message */
    :: atomic { alive[i] && connected[i] && !inside[i] && !asked[i] && wants > 0 && word[i] == IDLE &&
                !flagged[i] ->
           word[i] = BUSY; wants--; enter(i, true) }
    /* ask, and be granted (or find the hold that was taken over while asking) */
    :: atomic { alive[i] && connected[i] && !inside[i] && !asked[i] && wants > 0 && word[i] == NONE ->
           asked[i] = true; to_daemon[i]!request }
    :: atomic { alive[i] && connected[i] && asked[i] && word[i] == NONE && !looked[i] ->
           looked[i] = true; stale[i] = false }
    :: atomic { alive[i] && looked[i] && !asleep[i] && !stale[i] -> asleep[i] = true }
    :: atomic { alive[i] && looked[i] && !asleep[i] && stale[i] -> looked[i] = false }
    :: atomic { alive[i] && connected[i] && asked[i] && !looked[i] && word[i] == BUSY ->
           asked[i] = false; wants--; enter(i, !declared[i]) }
    /* no daemon: free */
    :: atomic { alive[i] && !connected[i] && !inside[i] && !asked[i] && !lingers[i] && wants > 0 ->
           wants--; private_busy[i] = true; enter(i, false) }
    :: atomic { alive[i] && !connected[i] && asked[i] && !looked[i] ->
           asked[i] = false; wants--; enter(i, false) }
    :: alive[i] && inside[i] -> finish(i)
    /* back on the hold that lingers, or too late */
    :: atomic { alive[i] && connected[i] && lingers[i] && !turn[i] && wants > 0 ->
           lingers[i] = false; wants--; enter(i, !declared[i]) }
#if MUTANT != 8
    :: atomic { alive[i] && lingers[i] -> give_up(i) }
#endif
    /* the next command in the same hold; a daemon that has seen an equal's request has said so */
    :: atomic { alive[i] && connected[i] && inside[i] && wants > 0 && !turn[i] ->
           wants--;
           assert(!(EQUALS && daemon_alive && mine[i] == generation && truth[i] == HELD &&
                    truth[other(i)] == WAITING && told[i])) }
    /* the connection */
    :: alive[i] && connected[i] && (!daemon_alive || mine[i] != generation) -> notice(i)
    :: alive[i] && !connected[i] && daemon_alive -> attach(i)
    /* SIGKILL at any moment; what runs drains later */
    :: atomic { alive[i] && faults > 0 ->
           faults--; alive[i] = false; draining[i] = inside[i] && scheduled[i]; inside[i] = false;
           asked[i] = false; looked[i] = false; asleep[i] = false; lingers[i] = false }
    :: atomic { !alive[i] && draining[i] -> draining[i] = false; scheduled[i] = false }
    :: !alive[i] && !draining[i] -> break
    /* done: the process ends */
    :: alive[i] && wants == 0 && !inside[i] && !asked[i] && !lingers[i] -> alive[i] = false
    od
}

/* ---- daemon ---- */

/* Calls the lease of j in: BUSY is flagged, IDLE is taken, NONE is on its way back. */
inline call_in(j) {
#if MUTANT == 1
    if
    :: word[j] == IDLE ->
        skip; /* the client may begin here */
        word[j] = NONE; truth[j] = FREE
    :: word[j] == BUSY -> flagged[j] = true; turn[j] = claims(other(j)); told[j] = true
    :: word[j] == NONE -> truth[j] = FREE
    fi
#else
    atomic {
        if
        :: word[j] == IDLE -> word[j] = NONE; truth[j] = FREE
        :: word[j] == BUSY -> flagged[j] = true; turn[j] = claims(other(j)); told[j] = true
        :: word[j] == NONE -> truth[j] = FREE
        fi
    }
#endif
}

inline grant(i) {
    truth[i] = HELD;
    word[i] = BUSY;
    stale[i] = true;
    asleep[i] = false;
    declared[i] = false;
    flagged[i] = (truth[other(i)] == WAITING);
#if MUTANT == 6
    turn[i] = false;
#else
    turn[i] = flagged[i] && claims(other(i));
#endif
    told[i] = flagged[i]
}

#define held(j) (truth[j] == HELD || truth[j] == DECLARED)

inline hear(i) {
    if
    :: message == request -> truth[i] = WAITING
    :: message == release && held(i) -> truth[i] = FREE
    :: message == busy_attach -> truth[i] = DECLARED; spoken[i] = true
    :: message == idle_attach -> truth[i] = FREE; spoken[i] = true
    :: else -> skip
    fi
}

proctype Daemon() {
    mtype message;

end: do
    :: atomic { daemon_alive && nempty(to_daemon[0]) -> to_daemon[0]?message; hear(0) }
    :: atomic { daemon_alive && nempty(to_daemon[1]) -> to_daemon[1]?message; hear(1) }
    /* a waiting client whose rival holds nothing */
    :: atomic { daemon_alive && !settling && truth[0] == WAITING && !held(1) -> grant(0) }
    :: atomic { daemon_alive && !settling && truth[1] == WAITING && !held(0) -> grant(1) }
    /* a waiting client whose rival holds, perhaps idly */
    :: daemon_alive && truth[0] == WAITING && truth[1] == HELD && !flagged[1] -> call_in(1)
    :: daemon_alive && truth[1] == WAITING && truth[0] == HELD && !flagged[0] -> call_in(0)
    /* death of a client: what waits is dropped, what it holds stays held until it has drained */
#if MUTANT == 3
    :: atomic { daemon_alive && !alive[0] && truth[0] != FREE -> truth[0] = FREE }
    :: atomic { daemon_alive && !alive[1] && truth[1] != FREE -> truth[1] = FREE }
#else
    :: atomic { daemon_alive && !alive[0] && (truth[0] == WAITING || held(0) && !draining[0]) ->
           truth[0] = FREE }
    :: atomic { daemon_alive && !alive[1] && (truth[1] == WAITING || held(1) && !draining[1]) ->
           truth[1] = FREE }
#endif
    /* settled: every living client has spoken, and nothing of a dead one drains */
#if MUTANT == 4
    :: atomic { daemon_alive && settling -> settling = false }
#else
    :: atomic { daemon_alive && settling && (spoken[0] || !alive[0]) && (spoken[1] || !alive[1]) &&
           !draining[0] && !draining[1] -> settling = false }
#endif
    /* death and rebirth of the daemon itself */
    :: atomic { daemon_alive && faults > 0 ->
           faults--; daemon_alive = false; settling = false;
           truth[0] = FREE; truth[1] = FREE; spoken[0] = false; spoken[1] = false }
    :: atomic { !daemon_alive ->
           do
           :: nempty(to_daemon[0]) -> to_daemon[0]?message
           :: nempty(to_daemon[1]) -> to_daemon[1]?message
           :: empty(to_daemon[0]) && empty(to_daemon[1]) -> break
           od;
           daemon_alive = true; settling = true; generation++ }
    od
}

init {
    atomic {
        faults = FAULTS;
        connected[0] = true;
        connected[1] = true;
        spoken[0] = true;
        spoken[1] = true;
        run Client(0);
        run Client(1);
        run Daemon()
    }
}
