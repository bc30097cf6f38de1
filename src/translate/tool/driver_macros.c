#include "translate/tool/driver_macros.h"

#include <stdio.h>
#include <string.h>

#include "base/driver_quirks.h"

/* "OpenCL C 1.2 PoCL", "OpenCL 3.0 ..." or "CL1.2": 120 or 300; 0 if there is no number. */
static unsigned version_of(const char *text)
{
    unsigned major;
    unsigned minor;
    const char *digit = strpbrk(text, "0123456789");

    return digit && sscanf(digit, "%2u.%2u", &major, &minor) == 2 ? 100 * major + 10 * minor : 0;
}

/*
 * Without -cl-std, the language is the device's highest 1.x, as the specification says, or the
 * device's version (QUIRK_STANDARD_OF_DEVICE). The checks at the top of the result detect a wrong
 * guess.
 */
static unsigned language_of(const struct driver *driver, const struct options *options)
{
    unsigned version = version_of(driver->c_version);

    if (options->standard)
        return version_of(options->standard);
    if (driver_quirks_have(driver_quirks_of(driver->version, "", ""), QUIRK_STANDARD_OF_DEVICE))
        return version_of(driver->version);
    return version > 120 ? 120 : version;
}

const char *driver_standard(const struct driver *driver, const struct options *options)
{
    unsigned version = language_of(driver, options);

    return version >= 300   ? "CL3.0"
           : version >= 200 ? "CL2.0"
           : version == 110 ? "CL1.1"
           : version == 100 ? "CL1.0"
                            : "CL1.2";
}

/* Enables every word that is a plain name. */
static void allow_words(struct text *text, const char *words)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    while (*words) {
        size_t n = strcspn(words, " ");

        if (n && strspn(words, plain) == n)
            text_print(text, ",+%.*s", (int)n, words);
        words += n + (words[n] == ' ');
    }
}

const char *driver_extensions(const struct driver *driver)
{
    struct text text = {0};

    text_print(&text, "-cl-ext=-all");
    allow_words(&text, driver->extensions);
    allow_words(&text, driver->features);
    /*
     * Clang requires that an extension and the feature of OpenCL 3.0 with the same meaning agree.
     */
    if (strstr(driver->extensions, "cl_khr_fp64") || strstr(driver->features, "__opencl_c_fp64"))
        text_print(&text, ",+cl_khr_fp64,+__opencl_c_fp64");
    if (strstr(driver->extensions, "cl_khr_3d_image_writes") ||
        strstr(driver->features, "__opencl_c_3d_image_writes"))
        text_print(&text, ",+cl_khr_3d_image_writes,+__opencl_c_3d_image_writes");
    return text.bytes;
}

/*
 * Defines each word of a list separated by spaces: NAME as `value` (NULL: unknown), NAME=X as X.
 */
static void define_words(struct preprocessor *pp, const char *words, const char *value)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        char *word = text_copy(words, n);
        char *equals = strchr(word, '=');

        if (equals)
            *equals = 0;
        if (word[0])
            macro_driver(pp, word, equals ? equals + 1 : value);
        words += n + (words[n] == ' ');
    }
}

static void define_number(struct preprocessor *pp, const char *name, unsigned value)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", value);
    macro_driver(pp, name, text_copy(text, strlen(text)));
}

/*
 * Constants of the language (OpenCL C 6.4.3, 6.15.2.1, 6.15.4.1): defined everywhere; the driver
 * knows their text.
 */
static void define_constants(struct preprocessor *pp)
{
    static const char *const stems[] = {"M_E",        "M_LOG2E", "M_LOG10E", "M_LN2",  "M_LN10",
                                        "M_PI",       "M_PI_2",  "M_PI_4",   "M_1_PI", "M_2_PI",
                                        "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2"};
    static const char numbers[] = "CHAR_BIT=8 SCHAR_MAX=127 UCHAR_MAX=255 CHAR_MAX=127 USHRT_MAX=65535 "
                                  "SHRT_MAX=32767 FLT_DIG=6 FLT_MANT_DIG=24 "
                                  "FLT_RADIX=2";
    char name[32];

    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
        macro_driver(pp, stems[i], NULL);
        (void)snprintf(name, sizeof name, "%s_F", stems[i]);
        macro_driver(pp, name, NULL);
    }
    define_words(
        pp,
        "NULL MAXFLOAT HUGE_VALF HUGE_VAL INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON FLT_MAX_EXP FLT_MIN_EXP "
        "FLT_MAX_10_EXP FLT_MIN_10_EXP DBL_MAX DBL_MIN DBL_EPSILON DBL_DIG DBL_MANT_DIG INT_MAX INT_MIN "
        "UINT_MAX "
        "LONG_MAX LONG_MIN ULONG_MAX SCHAR_MIN CHAR_MIN SHRT_MIN CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE",
        NULL);
    define_words(pp, numbers, NULL);
}

void driver_macros(struct preprocessor *pp, const struct driver *driver, const struct options *options)
{
    static const struct {
        const char *name;
        unsigned version;
    } versions[] = {{"CL_VERSION_1_0", 100},
                    {"CL_VERSION_1_1", 110},
                    {"CL_VERSION_1_2", 120},
                    {"CL_VERSION_2_0", 200},
                    {"CL_VERSION_3_0", 300}};
    unsigned version = version_of(driver->version[0] ? driver->version : driver->c_version);
    unsigned language = language_of(driver, options);

    define_constants(pp);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (versions[i].version <= version)
            define_number(pp, versions[i].name, versions[i].version);
    if (version)
        define_number(pp, "__OPENCL_VERSION__", version);
    if (language)
        define_number(pp, "__OPENCL_C_VERSION__", language);
    if (driver->little_endian)
        define_number(pp, "__ENDIAN_LITTLE__", 1);
    if (driver->images)
        define_number(pp, "__IMAGE_SUPPORT__", 1);
    if (options->fast_relaxed_math)
        define_number(pp, "__FAST_RELAXED_MATH__", 1);
    define_words(pp, "__kernel_exec __clang__ __STDC__", NULL);
    define_words(pp, driver->extensions, "1");
    if (language >= 300)
        define_words(pp, driver->features, "1");
    define_words(pp, driver->defines, NULL);
}
