#include "daemon_ask.h"

char ask_online(struct puppet *puppet)
{
    puppet_say(puppet, PUPPET_ONLINE);
    return puppet_hear(puppet, FIXTURE_LIMIT);
}

bool is_online(void *argument)
{
    return ask_online(argument) == 'O';
}
