/*
 * Readable names of kernels. The expected texts are those of c++filt of GNU binutils 2.40, which
 * also is the witness for random names where it is installed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/random.h"
#include "harness.h"

static const struct {
    const char *name, *declaration, *kernel;
} pairs[] = {
    {"_Z6matmulPKfS0_Pfi", "matmul(float const*, float const*, float*, int)", "matmul"},
    {"_Z3addPfS_i", "add(float*, float*, int)", "add"},
    {"_ZN2ns5scaleIfLi4EEEvPT_", "void ns::scale<float, 4>(float*)", "ns::scale<float, 4>"},
    {"_Z1kILi16EfEvPKT0_S2_PS0_iii", "void k<16, float>(float const*, float const*, float*, int, int, int)",
     "k<16, float>"},
    {"_ZN12_GLOBAL__N_16reduceILb1EfEEvPKT0_PS1_m",
     "void (anonymous namespace)::reduce<true, float>(float const*, float*, unsigned long)",
     "(anonymous namespace)::reduce<true, float>"},
    {"_ZL5localPf", "local(float*)", "local"},
    {"_Z1kI6__halfLj8EEvPT_", "void k<__half, 8u>(__half*)", "k<__half, 8u>"},
    {"_Z1kP6float4PK6uchar4", "k(float4*, uchar4 const*)", "k"},
    {"_ZN3app6detail4SortIi7GreaterIiEE3runIPiEEvT_S6_",
     "void app::detail::Sort<int, Greater<int> >::run<int*>(int*, int*)",
     "app::detail::Sort<int, Greater<int> >::run<int*>"},
    {"_Z1kSt6vectorIiSaIiEE", "k(std::vector<int, std::allocator<int> >)", "k"},
    {"_Z1kIJfiEEvDpT_", "void k<float, int>(float, int)", "k<float, int>"},
    {"_Z1kIJfiEEvDpRKT_", "void k<float, int>(float const&, int const&)", "k<float, int>"},
    {"_Z1kIJEEvDpT_", "void k<>()", "k<>"},
    {"_Z1kI11__nv_dl_tagIPFiiPPcEXadL_Z4mainEELj1EEEvT_",
     "void k<__nv_dl_tag<int (*)(int, char**), &main, 1u> >(__nv_dl_tag<int (*)(int, char**), &main, 1u>)",
     "k<__nv_dl_tag<int (*)(int, char**), &main, 1u> >"},
    {"_ZN6Kokkos4ImplI11ParallelForIZ4mainEUliE_EEEvT_",
     "void Kokkos::Impl<ParallelFor<main::{lambda(int)#1}> >(ParallelFor<main::{lambda(int)#1}>)",
     "Kokkos::Impl<ParallelFor<main::{lambda(int)#1}> >"},
    {"_Z1kIZ3fooIiEvT_EUlvE0_EvS0_", "void k<foo<int>(int)::{lambda()#2}>(foo)",
     "k<foo<int>(int)::{lambda()#2}>"},
    {"_Z1kIZNK1A1fEvEUlvE_Evv", "void k<A::f() const::{lambda()#1}>()", "k<A::f() const::{lambda()#1}>"},
    {"_Z1kIZ4mainEUlT_E_EvT_", "void k<main::{lambda(auto:1)#1}>(main::{lambda(auto:1)#1})",
     "k<main::{lambda(auto:1)#1}>"},
    {"_Z1kIN1AUt_EEvv", "void k<A::{unnamed type#1}>()", "k<A::{unnamed type#1}>"},
    {"_Z1kPA10_f", "k(float (*) [10])", "k"},
    {"_Z1kILj16EEvRAT__f", "void k<16u>(float (&) [16u])", "k<16u>"},
    {"_Z1kIA2_A3_fEvv", "void k<float [2][3]>()", "k<float [2][3]>"},
    {"_Z1kPFviE", "k(void (*)(int))", "k"},
    {"_Z1kPFPFPA7_iaEhEcS0_", "k(int (*(*(*)(unsigned char))(signed char)) [7], char, int (*) [7])", "k"},
    {"_Z1kIFviEEvv", "void k<void (int)>()", "k<void (int)>"},
    {"_Z1kPVKi", "k(int const volatile*)", "k"},
    {"_Z1kIRiEvOT_", "void k<int&>(int&)", "k<int&>"},
    {"_Z1kDv4_f", "k(float __vector(4))", "k"},
    {"_Z1kDhDF16_", "k(half, _Float16)", "k"},
    {"_Z1kILs5ELin5ELm16ELc97ELb0EEvv", "void k<(short)5, -5, 16ul, (char)97, false>()",
     "k<(short)5, -5, 16ul, (char)97, false>"},
    {"_Z1kILN1a1EE2EEvv", "void k<(a::E)2>()", "k<(a::E)2>"},
    {"_Z1kILf3f800000EEvv", "void k<(float)[3f800000]>()", "k<(float)[3f800000]>"},
    {"_ZN2ns1kB5cxx11Ev", "ns::k[abi:cxx11]()", "ns::k[abi:cxx11]"},
    {"_Z1kILi1EEv5arrayIfXT_EE", "void k<1>(array<float, 1>)", "k<1>"},
    {"_Z1kz", "k(...)", "k"},
    {"_Z1kPfPiPjPlPmPxPyPcPhPsPtPbS9_SA_",
     "k(float*, int*, unsigned int*, long*, unsigned long*, long long*, unsigned long long*, char*, unsigned "
     "char*, short*, unsigned short*, bool*, unsigned short*, bool*)",
     "k"},
    {"_ZN6detailIEEvPFPF1kjEfER3cubIcLx0EE", "void detail<>(k (*(*)(float))(unsigned int), cub<char, 0ll>&)",
     "detail<>"},
};

static const char *kernel_of(const char *name)
{
    static char text[DEMANGLE_SIZE];

    demangle_kernel(name, text, sizeof text);
    return text;
}

START_TEST(names_read_as_cppfilt_reads_them)
{
    char text[1024];

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        ck_assert_int_eq(demangle_declaration(pairs[i].name, text, sizeof text), 0);
        ck_assert_str_eq(text, pairs[i].declaration);
        ck_assert_str_eq(kernel_of(pairs[i].name), pairs[i].kernel);
    }
}
END_TEST

START_TEST(what_is_not_a_mangled_name_stays_as_it_is)
{
    static const char *const names[] = {"",       "matmul", "_Z",    "_ZN",     "_Z9matmul",
                                        "_ZNE",   "_Z0",    "Z1kPf", "_Z1k Pf", "_ZplRK1AS1_",
                                        "_Zk1Pf", "_ZTV1A", "%s%n"};
    char text[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_assert_str_eq(kernel_of(names[i]), names[i]);
        ck_assert_int_eq(demangle_declaration(names[i], text, sizeof text), -EINVAL);
    }
}
END_TEST

START_TEST(a_name_without_its_end_keeps_what_could_be_read)
{
    /* Of _ZN3cub6reduceI... and of _Z6matmulPKfS0_..., by the grammar: scopes, then arguments. */
    ck_assert_str_eq(kernel_of("_ZN3cub6detail6reduceINS_6PolicyIfLi25"), "cub::detail::reduce<...>");
    ck_assert_str_eq(kernel_of("_Z6matmulPKfS0_PF"), "matmul");
    ck_assert_str_eq(kernel_of("_Z4copyILi4EEvPT"), "copy<4>");
    ck_assert_str_eq(kernel_of("_Z1kIMS_iEvv"), "k<...>"); /* members are not in the subset */
    ck_assert_str_eq(kernel_of("_ZN3cub6det"), "_ZN3cub6det");
}
END_TEST

START_TEST(long_names_are_shortened)
{
    char text[16];

    demangle_kernel("_ZN2ns5scaleI5firstLi4EEEvPT_", text, sizeof text);
    ck_assert_str_eq(text, "ns::scale<...>");
    demangle_kernel("_ZN2ns5scaleI5firstLi4EEEvPT_", text, 12);
    ck_assert_str_eq(text, "_ZN2ns5scal");
    demangle_kernel("_Z6matmulPf", text, 1);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(demangle_declaration("_Z6matmulPf", text, 15), 0);
    ck_assert_str_eq(text, "matmul(float*)");
    ck_assert_int_eq(demangle_declaration("_Z6matmulPf", text, 14), -ENAMETOOLONG);
}
END_TEST

/* ---- random names ---- */

enum { RANDOM_NAMES = 4000 };

static const char *pick(struct random_state *random, const char *const words[], size_t n)
{
    return words[random_below(random, n)];
}

#define PICK(random, ...)                                                                                    \
    pick(random, (const char *const[]){__VA_ARGS__},                                                         \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void put_type(struct random_state *random, unsigned depth, bool in_template, FILE *out);

static void put_word(struct random_state *random, FILE *out)
{
    fputs(PICK(random, "1k", "2ns", "6matmul", "1A", "3cub", "2T2", "6__half", "6detail"), out);
}

static void put_arguments(struct random_state *random, unsigned depth, FILE *out)
{
    bool is_pack = random_below(random, 8) == 0;

    fputs(is_pack ? "IJ" : "I", out);
    for (uint64_t n = random_below(random, 4); n > 0; n--) {
        if (random_below(random, 4) == 0)
            fprintf(out, "L%s%sE", PICK(random, "i", "j", "l", "m", "x", "y", "b", "s", "c"),
                    PICK(random, "0", "1", "16", "n3"));
        else
            put_type(random, depth, false, out);
    }
    fputs(is_pack ? "EE" : "E", out);
}

static void put_class(struct random_state *random, unsigned depth, FILE *out)
{
    bool nested = depth && random_below(random, 2);

    if (nested)
        fputs(PICK(random, "N2ns", "NS_", "NS1_"), out);
    else if (random_below(random, 4) == 0)
        fputs("St", out);
    put_word(random, out);
    if (depth && random_below(random, 2))
        put_arguments(random, depth - 1, out);
    if (nested)
        fputs("E", out);
}

/* Substitutions are drawn at random: most exist, and both readers must mean the same by them. */
static void put_type(struct random_state *random, unsigned depth, bool in_template, FILE *out)
{
    static const char *const builtins[] = {"f", "i", "d", "j", "l", "m", "b", "c", "h", "s", "t", "x", "y"};
    uint64_t kind = depth ? random_below(random, 10) : 0;

    if (kind == 1 || kind == 2)
        fputs(PICK(random, "P", "PK", "RK", "K", "V", "R", "O", "PA3_"), out);
    if (kind == 3)
        fputs(PICK(random, "S_", "S0_", "S1_", "S2_", "S3_"), out);
    else if (kind == 4 && in_template)
        fputs(PICK(random, "T_", "T0_", "PT_"), out);
    else if (kind == 5) {
        fputs("PFv", out);
        put_type(random, depth - 1, in_template, out);
        fputs("E", out);
    } else if (kind == 6)
        fprintf(out, "P"), put_type(random, depth - 1, in_template, out);
    else if (kind > 6 || kind == 2)
        put_class(random, depth - 1, out);
    else
        fputs(builtins[random_below(random, sizeof builtins / sizeof builtins[0])], out);
}

static void put_kernel(struct random_state *random, FILE *out)
{
    bool is_template = random_below(random, 2);
    bool nested = random_below(random, 2);

    fputs(nested ? "_ZN" : "_Z", out);
    put_word(random, out);
    if (nested)
        put_word(random, out);
    if (is_template)
        put_arguments(random, 2, out);
    fputs(nested ? "E" : "", out);
    fputs(is_template ? "v" : "", out);
    for (uint64_t n = 1 + random_below(random, 4); n > 0; n--)
        put_type(random, 3, is_template, out);
    if (is_template && random_below(random, 4) == 0)
        fputs(PICK(random, "DpT_", "DpRKT_"), out); /* last: c++filt leaves commas around an empty one */
    fputs("\n", out);
}

/* One name a line, as c++filt reads them; NULL: there is no c++filt. */
static FILE *ask_cppfilt(const char *path)
{
    char command[256];
    FILE *answers;

    if (system("c++filt --version >/dev/null 2>&1") != 0) /* NOLINT(cert-env33-c): a test */
        return NULL;
    (void)snprintf(command, sizeof command, "c++filt <%s", path);
    answers = popen(command, "re"); /* NOLINT(cert-env33-c): a test */
    ck_assert_ptr_nonnull(answers);
    return answers;
}

START_TEST(random_names_read_as_cppfilt_reads_them)
{
    char path[] = "/tmp/demangle-XXXXXX";
    int fd = mkstemp(path);
    FILE *names = fdopen(fd, "w+e");
    struct random_state random;
    FILE *answers;
    char name[4096];
    char answer[8192];
    char text[8192];
    size_t read = 0;

    random_init(&random, 22, 7);
    for (size_t i = 0; i < RANDOM_NAMES; i++)
        put_kernel(&random, names);
    rewind(names);
    answers = ask_cppfilt(path);
    while (answers && fgets(name, sizeof name, names) && fgets(answer, sizeof answer, answers)) {
        name[strcspn(name, "\n")] = answer[strcspn(answer, "\n")] = '\0';
        if (demangle_declaration(name, text, sizeof text) == 0) {
            ck_assert_msg(strcmp(text, answer) == 0, "%s: expected %s, found %s", name, answer, text);
            read++;
        }
    }
    if (answers) {
        ck_assert_int_eq(pclose(answers), 0);
        ck_assert_uint_gt(read, RANDOM_NAMES / 2);
    } else {
        printf("skipped: there is no c++filt here\n");
    }
    (void)fclose(names);
    (void)unlink(path);
}
END_TEST

HARNESS_MAIN("demangle", 60, names_read_as_cppfilt_reads_them, what_is_not_a_mangled_name_stays_as_it_is,
             a_name_without_its_end_keeps_what_could_be_read, long_names_are_shortened,
             random_names_read_as_cppfilt_reads_them)
