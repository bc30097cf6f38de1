#include "ptx/cut/ptx_cut.h"

static const struct {
    const char *name, *sentence, *help;
} reasons[PTX_N_WHOLE] = {
    [PTX_CUT] = {"", "", ""},
#define PTX_WHOLE(id, name, sentence, help) [PTX_WHOLE_##id] = {name, sentence, help},
#include "ptx/cut/reasons.def"
#undef PTX_WHOLE
};

const char *ptx_whole_name(enum ptx_whole reason)
{
    return reasons[reason].name;
}

const char *ptx_whole_sentence(enum ptx_whole reason)
{
    return reasons[reason].sentence;
}

const char *ptx_whole_help(enum ptx_whole reason)
{
    return reasons[reason].help;
}
