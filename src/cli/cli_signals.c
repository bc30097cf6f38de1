#include "cli/cli_signals.h"

struct cli_signals cli_signals;
