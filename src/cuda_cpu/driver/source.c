#include "cuda_cpu/driver/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/fatbin.h"

static const char mark[] = "//baton-cuda-cpu linked"; /* the number of texts and their sizes follow */

char *source_pack(const struct image_text texts[], size_t n, size_t *ret_size)
{
    char *packed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&packed, &size);

    if (!out)
        return NULL;
    fprintf(out, "%s %zu", mark, n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %zu", texts[i].size);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        fwrite(texts[i].text, 1, texts[i].size, out);
    if (fclose(out) != 0) {
        free(packed);
        return NULL;
    }
    *ret_size = size + 1;
    return packed;
}

static CUresult unpack(const char *text, struct source *ret_source)
{
    const char *sizes = text + sizeof mark - 1, *at = strchr(text, '\n');
    size_t room = at ? strlen(at + 1) : 0;
    char *end;

    ret_source->n = strtoul(sizes, &end, 10);
    if (!at || !ret_source->n || ret_source->n > SOURCE_MOST_TEXTS)
        return CUDA_ERROR_INVALID_IMAGE;
    at++;
    for (size_t i = 0; i < ret_source->n; i++) {
        size_t size = end < at ? strtoul(end, &end, 10) : 0;

        if (!size || size > room)
            return CUDA_ERROR_INVALID_IMAGE;
        ret_source->texts[i] = (struct image_text){.text = at, .size = size};
        at += size;
        room -= size;
    }
    return CUDA_SUCCESS;
}

static CUresult read_fatbin(const void *image, struct source *ret_source)
{
    size_t i = ret_source->n;
    size_t size;
    int result = i < SOURCE_MOST_TEXTS ? fatbin_ptx(image, SOURCE_ARCHITECTURE, &ret_source->owned[i], &size)
                                       : FATBIN_MALFORMED;

    if (result == 0) {
        ret_source->texts[i] = (struct image_text){.text = ret_source->owned[i], .size = size};
        ret_source->n++;
    }
    return result == 0               ? CUDA_SUCCESS
           : result == FATBIN_NO_PTX ? CUDA_ERROR_NO_BINARY_FOR_GPU
           : result == -ENOMEM       ? CUDA_ERROR_OUT_OF_MEMORY
                                     : CUDA_ERROR_INVALID_IMAGE;
}

/* Links the PTX of the files of a program that was compiled in parts (nvcc -rdc=true). */
static CUresult read_parts(const void *const *parts, struct source *ret_source)
{
    CUresult code = CUDA_SUCCESS;

    for (; *parts && (code == CUDA_SUCCESS || code == CUDA_ERROR_NO_BINARY_FOR_GPU); parts++)
        code = read_fatbin(*parts, ret_source);
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_NO_BINARY_FOR_GPU)
        code = ret_source->n ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (code != CUDA_SUCCESS)
        source_done(ret_source);
    return code;
}

CUresult source_read(const void *image, struct source *ret_source)
{
    static const char elf[] = "\177ELF";

    ret_source->n = 0;
    memset(ret_source->owned, 0, sizeof ret_source->owned);
    if (fatbin_parts(image))
        return read_parts(fatbin_parts(image), ret_source);
    if (fatbin_is(image))
        return read_fatbin(image, ret_source);
    if (strncmp(image, elf, sizeof elf - 1) == 0) /* machine code of a GPU */
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (strncmp(image, mark, sizeof mark - 1) == 0)
        return unpack(image, ret_source);
    ret_source->texts[0] = (struct image_text){.text = image, .size = strlen(image)};
    ret_source->n = 1;
    return CUDA_SUCCESS;
}

void source_done(struct source *source)
{
    for (size_t i = 0; i < SOURCE_MOST_TEXTS; i++) {
        free(source->owned[i]);
        source->owned[i] = NULL;
    }
}
