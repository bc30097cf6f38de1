#include "cli/needed.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory. All reads go through at(), which checks the file's end. */
struct elf_image {
    const unsigned char *bytes;
    size_t size;
};

static const void *at(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

/* The file offset of an address; 0: it is in no loaded segment. */
static uint64_t offset_of(const struct elf_image *image, const Elf64_Ehdr *header, uint64_t address)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *part = at(image, header->e_phoff + i * sizeof *part, sizeof *part);

        if (part && part->p_type == PT_LOAD && address >= part->p_vaddr &&
            address - part->p_vaddr < part->p_filesz)
            return part->p_offset + (address - part->p_vaddr);
    }
    return 0;
}

static bool name_begins(const struct elf_image *image, uint64_t offset, const char *library)
{
    const char *name = at(image, offset, strlen(library));

    return name && strncmp(name, library, strlen(library)) == 0;
}

/*
 * The dynamic section. The string table comes first, because names may precede the entry that
 * locates it.
 */
static bool names(const struct elf_image *image, const Elf64_Ehdr *header, const Elf64_Phdr *dynamic,
                  const char *library)
{
    const Elf64_Dyn *entries = at(image, dynamic->p_offset, dynamic->p_filesz);
    size_t n = entries ? dynamic->p_filesz / sizeof *entries : 0;
    uint64_t strings = 0;

    for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_STRTAB)
            strings = offset_of(image, header, entries[i].d_un.d_ptr);
    for (size_t i = 0; strings && i < n && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_NEEDED && name_begins(image, strings + entries[i].d_un.d_val, library))
            return true;
    return false;
}

static bool image_needs(const struct elf_image *image, const char *library)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);

    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *part = at(image, header->e_phoff + i * sizeof *part, sizeof *part);

        if (part && part->p_type == PT_DYNAMIC)
            return names(image, header, part, library);
    }
    return false;
}

static bool file_needs(const char *path, const char *library)
{
    struct elf_image image;
    struct stat about;
    bool needs = false;
    void *map;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (map != MAP_FAILED) {
            image = (struct elf_image){map, (size_t)about.st_size};
            needs = image_needs(&image, library);
            (void)munmap(map, image.size);
        }
    }
    (void)close(file);
    return needs;
}

bool needed_by_program(const char *command, const char *library)
{
    const char *path = getenv("PATH");
    char name[PATH_MAX];

    if (strchr(command, '/'))
        return file_needs(command, library);
    while (path && *path) {
        int length = (int)strcspn(path, ":");

        if (snprintf(name, sizeof name, "%.*s/%s", length, path, command) < (int)sizeof name &&
            access(name, X_OK) == 0)
            return file_needs(name, library);
        path += length + (path[length] == ':');
    }
    return false;
}
