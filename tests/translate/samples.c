#include "samples.h"

static const char ids[] =
    "__kernel void k(__global const int *in, __global int *out, int n)\n"
    "{\n"
    "    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);\n"
    "    size_t z = get_global_id(2) - get_global_offset(2);\n"
    "    size_t w = (z * get_global_size(1) + y) * get_global_size(0) + x;\n"
    "    for (uint d = 0; d < 5; d++) {\n"
    "        __global int *o = out + (w * 5 + d) * 9;\n"
    "        if ((w * 5 + d) * 9 + 9 > n) return;\n"
    "        o[0] = get_global_id(d); o[1] = get_group_id(d); o[2] = get_num_groups(d); o[3] = "
    "get_global_size(d);\n"
    "        o[4] = get_global_offset(d); o[5] = get_local_id(d); o[6] = get_local_size(d); o[7] = "
    "get_work_dim(); o[8] = w;\n"
    "    }\n"
    "}\n";

const struct sample samples[] = {
    {"all id functions", ids, "", 0, 0},
    {"all id functions in OpenCL C 1.1", ids, "-cl-std=CL1.1", 0, 0},
    {"all id functions in OpenCL C 3.0", ids, "-cl-std=CL3.0", 0, 0},
    {"helpers of helpers",
     "size_t a(uint d) { return get_global_id(d); }\n"
     "size_t b(void) { return a(0) + get_global_size(0) * (a(1) + get_global_size(1) * a(2)); }\n"
     "size_t unused(void) { return get_group_id(0); }\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ size_t i = b() & n; out[i] = in[i & 4095] + (int)get_num_groups(1); }\n",
     "", 0, 0},
    {"function-like macros and pasting",
     "#define ID(d) get_global_id(d)\n#define JOIN(a, b) a##b\n#define GETTER(T, n) T JOIN(get_, n)(__global "
     "T const *p, int i) { return p[(i + ID(0)) & 4095]; }\n"
     "GETTER(int, one) GETTER(uint, two)\n"
     "#define STORE(i, v) do { out[(i) & n] = (v); } while (0)\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ int i = ID(0) + get_global_size(0) * (ID(1) + get_global_size(1) * ID(2)); STORE(i, get_one(in, i) ^ "
     "(int)get_two((__global const uint *)in, 7)\n + (int)get_group_id(0)); }\n",
     "", 0, 0},
    {"local memory and barriers",
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ __local int t[256]; size_t l = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * "
     "get_local_size(0) + get_local_id(0);\n"
     "  size_t m = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
     "  size_t g = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + "
     "get_group_id(0);\n"
     "  t[l] = in[(g * m + l) & 4095]; barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  int s = 0; for (size_t i = 0; i <= l; i++) s += t[i]; barrier(CLK_LOCAL_MEM_FENCE); t[l] = s; "
     "barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  out[(g * m + l) & n] = t[m - 1 - l]; }\n",
     "", 0, 0},
    {"a local argument",
     "void fill(__local int *t, __global const int *in) { t[get_local_id(0)] = in[get_global_id(0) & 4095]; "
     "}\n"
     "__kernel void k(__global const int *in, __global int *out, int n, __local int *t)\n"
     "{ fill(t, in); barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0) & n] = t[get_local_size(0) - 1 - "
     "get_local_id(0)]; }\n",
     "", 1, 1024},
    {"kernels that call kernels",
     "__kernel void part(__global int *out, int v) { out[get_global_id(0) & 262143] = v + get_group_id(0); "
     "}\n"
     "void between(__global int *out, int v) { part(out, v * 3); }\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ if (in[get_global_id(0) & 4095] & 1) part(out, 5); else between(out, (int)get_global_size(0)); }\n",
     "", 1, 0},
    {"names that begin like ours",
     "int baton_get_global_id(int x) { return x + (int)get_global_id(0); } typedef int baton1_t;\n"
     "__kernel void k(__global const int *in, __global int *out, int baton_whole)\n"
     "{ baton1_t baton_at = baton_get_global_id(1); out[baton_at & baton_whole] = in[baton_at & 4095]; }\n",
     "", 1, 0},
    {"definitions from the command line",
     "__kernel void k(__global const int *in, __global int *out, int n)\n{ out[ID & n] = in[ID & 4095] * "
     "FACTOR + EMPTY 2; }\n",
     "-D ID=get_global_id(0) -DFACTOR=(3+4) -DEMPTY= -cl-mad-enable", 1, 0},
    {"prototypes, attributes and program-scope constants",
     "__constant int table[4] = {1, 20, 300, 4000};\n"
     "int pick(size_t i); static int shift(int);\n"
     "__kernel __attribute__((vec_type_hint(int4))) __attribute__((work_group_size_hint(8, 1, 1)))\n"
     "void k(__global const int *restrict in, __global int *restrict out, const int n)\n"
     "{ out[get_global_id(0) & n] = pick(get_global_id(0)) + shift(in[1]); }\n"
     "int pick(size_t i) { return table[(i + get_group_id(0)) & 3]; }\n"
     "static int shift(int v) { return v << (get_global_id(0) & 7); }\n",
     "-cl-std=CL1.2", 1, 0},
    {"doubles, vectors and structs",
     "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
     "typedef struct { float4 v; double d; int a[3]; } record;\n"
     "record make(int i) { record r; r.v = (float4)(get_global_id(0), i, 2.5f, M_PI_F); r.d = M_PI * i; "
     "r.a[0] = i; r.a[1] = get_group_id(0); r.a[2] = 7; return r; }\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ size_t i = get_global_id(0); record r = make(in[i & 4095] & 1023); float4 s = r.v.wzyx * (float4)(1, "
     "2, 3, (float)r.d);\n"
     "  out[i & n] = as_int(s.x + s.y) ^ convert_int_sat(s.w) ^ r.a[1] ^ (int)r.d; vstore4(convert_int4(s), "
     "(i & (n >> 3)) , out + (n >> 1) + 1); }\n",
     "", 1, 0},
    {"atomics without waiting",
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ atomic_add(&out[in[get_global_id(0) & 4095] & 63], (int)get_group_id(0) + 1);\n"
     "  atomic_max(out + 64 + (get_global_id(0) & 7), in[get_global_id(0) & 4095]);\n"
     "  volatile __global int *p = out + 100; int old; do { old = *p; } while (atomic_cmpxchg(p, old, old + "
     "3) != old); }\n",
     "", 1, 0},
    {"conditionals of the preprocessor",
     "#if defined(cl_khr_fp64) && __OPENCL_VERSION__ >= 110 && !defined(__NO_SUCH_VENDOR__)\n#define V "
     "5\n#elif 1\n#define V 6\n#endif\n"
     "#ifdef __ENDIAN_LITTLE__\nenum { W = V << 4 };\n#else\nenum { W = V };\n#endif\n#undef V\n#define "
     "V(...) vector(__VA_ARGS__)\n"
     "int vector(int a, int b) { return a * b + get_global_id(0); }\n"
     "#if 0\nthis isn't C at all\n#endif\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n{ out[get_global_id(0) & n] = V(W, "
     "__LINE__) + \\\n __LINE__; }\n",
     "", 1, 0},
    {"conditionals within the arguments of macros",
     "#define SUM(a, b) ((a) + (b))\n#define SAME(a) a\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n{ int i = get_global_id(0), v = "
     "SUM(\n#ifdef NO_SUCH\n 1,\n#elif SAME(0)\n # define X\n 2 ) junk\n#elif SAME(1)\n 3 +\n#if 0\n "
     "(\n#else\n "
     "SAME(\n#if 1\n in[i & 4095]\n#endif\n)\n#endif\n,\n#else\n 4,\n#endif\n SUM(5, "
     "(int)get_group_id(0)));\n"
     "#ifndef NO_SUCH\n out[i & n] = SUM(v,\n#else\n out[0] = SUM(1,\n#endif\n __LINE__); }\n",
     "", 1, 0},
    {"early return and divergent barriers-free loops",
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ size_t i = get_global_id(0); if (i % 3 == 1) return; int v = in[i & 4095] & 255; while (v > 1) { v = "
     "v & 1 ? 3 * v + 1 : v / 2; if (v == 10) break; }\n"
     "  for (size_t j = get_group_id(0); j < 100; j += get_num_groups(0)) { if (j == 50) continue; v += j; } "
     "out[i & n] = v; }\n",
     "", 1, 0},
};

const size_t n_samples = sizeof samples / sizeof samples[0];
