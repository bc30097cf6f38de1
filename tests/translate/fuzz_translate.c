/*
 * What baton-translate or the cache hands back may be any bytes: as they are, and as the metadata
 * of a well-formed message.
 */
#include "fuzz.h"
#include "translate/metadata.h"
#include "translate/record.h"

#include <stdlib.h>

static void decode(const uint8_t *bytes, size_t n)
{
    struct translate_result result;
    const char *deps;
    size_t n_deps;

    if (metadata_decode(bytes, n, &result, &deps, &n_deps) < 0)
        return;
    (void)translate_find(&result, "k");
    translate_result_done(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record_writer writer;

    decode(data, size);
    record_begin(&writer);
    record_add(&writer, "meta", data, size);
    record_add(&writer, "text", data, size / 2);
    record_add(&writer, "deps", data, size / 3);
    if (!record_finish(&writer))
        decode(writer.bytes, writer.length);
    record_done(&writer);
    return 0;
}
