#include "makespan/path/units.h"

#include <string.h>

/* What makes an instruction use the double-precision unit. */
enum doubles {
    NEVER,  /* it moves or compares bits, or runs elsewhere */
    IF_F64, /* when one of its types is .f64 */
};

static const struct {
    const char *names; /* opcodes, separated by blanks, without suffixes */
    enum kernel_unit unit;
    enum doubles doubles;
} classes[] = {
    /* Everything that goes through the load/store units, parameters and constants included. */
    {"ld ldu st atom red tex tld4 suld sust sured prefetch prefetchu discard applypriority ldmatrix stmatrix "
     "cp membar fence mbarrier tensormap",
     UNIT_L, NEVER},
    {"sin cos lg2 ex2 tanh", UNIT_S, NEVER},
    /* In double precision these are sequences on the D units. */
    {"rcp sqrt rsqrt div", UNIT_S, IF_F64},
    {"add sub mul fma mad abs neg min max set setp cvt testp copysign", UNIT_C, IF_F64},
    {"addc subc mul24 mad24 madc sad rem popc clz bfind fns brev bfe bfi bmsk szext dp4a dp2a lop3 and or "
     "xor not "
     "cnot shf shl shr prmt mov shfl selp slct cvta isspacep istypep mapa getctarank vote match activemask "
     "redux elect bar barrier griddepcontrol nanosleep pmevent trap brkpt setmaxnreg createpolicy alloca "
     "stacksave stackrestore txq suq movmatrix",
     UNIT_C, NEVER},
    {"vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 "
     "vsub4 "
     "vavrg4 vabsdiff4 vmin4 vmax4 vset4",
     UNIT_C, NEVER},
    /* The matrix units are not in the model: counted with the cores, except loads and stores. */
    {"wmma mma wgmma", UNIT_C, NEVER},
    {"bra brx call ret exit", UNIT_C, NEVER},
};

/* Is word[0..length) one of the blank-separated names? */
static bool is_among(const char *names, const char *word, size_t length)
{
    while (*names) {
        size_t name = strcspn(names, " ");

        if (name == length && memcmp(names, word, length) == 0)
            return true;
        names += name + strspn(names + name, " ");
    }
    return false;
}

/* Does the opcode have this suffix, given with its dot? */
static bool has_suffix(const char *opcode, size_t length, const char *suffix)
{
    size_t n = strlen(suffix);

    for (size_t i = 0; i + n <= length; i++) {
        if (memcmp(opcode + i, suffix, n) == 0 && (i + n == length || opcode[i + n] == '.'))
            return true;
    }
    return false;
}

bool units_of(const char *opcode, size_t length, enum kernel_unit *ret_unit)
{
    const char *dot = memchr(opcode, '.', length);
    size_t base = dot ? (size_t)(dot - opcode) : length;

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (!is_among(classes[i].names, opcode, base))
            continue;
        *ret_unit = classes[i].unit;
        if (classes[i].doubles == IF_F64 && has_suffix(opcode, length, ".f64"))
            *ret_unit = UNIT_D;
        if (is_among("wmma", opcode, base) &&
            (has_suffix(opcode, length, ".load") || has_suffix(opcode, length, ".store")))
            *ret_unit = UNIT_L;
        return true;
    }
    return false;
}

enum units_wait units_wait_of(const char *opcode, size_t length)
{
    /* Waits that end by what other warps, other groups or a clock do. An empty suffix: any. */
    static const struct {
        const char *name, *suffix;
    } others[] = {
        {"mbarrier", ".try_wait"}, {"griddepcontrol", ".wait"}, {"setmaxnreg", ".inc"}, {"nanosleep", ""}};
    const char *dot = memchr(opcode, '.', length);
    size_t base = dot ? (size_t)(dot - opcode) : length;

    if (is_among("bar barrier", opcode, base)) {
        if (has_suffix(opcode, length, ".warp"))
            return UNITS_NO_WAIT; /* of threads of one warp */
        if (has_suffix(opcode, length, ".cluster") || has_suffix(opcode, length, ".arrive"))
            return UNITS_WAIT_OTHER;
        return UNITS_WAIT_GROUP;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (is_among(others[i].name, opcode, base) &&
            (!*others[i].suffix || has_suffix(opcode, length, others[i].suffix)))
            return UNITS_WAIT_OTHER;
    }
    return UNITS_NO_WAIT;
}
