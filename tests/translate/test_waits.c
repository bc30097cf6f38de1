/* Which kernels may wait for other work-groups. */
#include "answering.h"
#include "harness.h"

START_TEST(kernels_that_wait_for_other_groups_are_not_cut)
{
    static const char *const waiting[] = {
        "__kernel void k(__global volatile int *f) { while (*f == 0) ; }",
        "__kernel void k(__global volatile int *f) { int v; do { v = f[1]; } while (v < 4); }",
        "__kernel void k(__global int *f) { while (atomic_cmpxchg(f, 0, 1) == 1) ; *f = 0; }",
        "__kernel void k(__global int *f) { while (atomic_cmpxchg(f, 1, 0) != 1) ; }",
        "__kernel void k(__global int *f) { atomic_inc(f); while (atomic_add(f, 0) < (int)get_num_groups(0)) "
        "; }",
        "__kernel void k(__global int *f) { for (;;) { int v = atomic_or(f, 0); if (v == 3) break; } }",
        "__kernel void k(__global int *f) { int done = 0; while (!done) { if (atomic_xchg(f, 1) == 0) { "
        "f[1]++; atomic_xchg(f, 0); done = 1; } } }",
        "int peek(__global volatile int *f) { return *f; }\n__kernel void k(__global int *f) { while "
        "(!peek(f)) ; }",
        "void wait(__global volatile int *f) { while (!*f) ; }\n__kernel void k(__global int *f) { wait(f); "
        "}",
        "__kernel void k(__global int *f) { while (f[0] == 0) mem_fence(CLK_GLOBAL_MEM_FENCE); }",
        "__kernel void k(__global int *f) { again: if (atomic_add(f, 0) == 0) goto again; }",
        "__kernel void k(__global int *f, __local int *s) { while (1) { s[0] = atomic_inc(f); "
        "barrier(CLK_LOCAL_MEM_FENCE); if (s[0] > 9) return; } }",
        "__kernel void k(__global int *f, int n) { if (n) { int d = 0; while (!d) { if (atomic_or(f, 0)) d = "
        "1; } } }",
        "__kernel void k(__global int *f) { int d = 0; while (!d) { if (atomic_or(f, 0)) { int v = 0; v = 1; "
        "d = v; } } }",
        "__kernel void k(__global int *f) { int d = 0; while (!d) switch (atomic_or(f, 0)) { int v; case 3: "
        "v "
        "= 1; default: d = v; } }",
        "__kernel void k(__global int *f) { for (;;) { if (atomic_or(f, 0)) { int v = 1; if (v) break; } } }",
    };

    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        expect_sliceable(waiting[i], false);
}
END_TEST

START_TEST(kernels_that_only_look_like_waiting_are_cut)
{
    static const char *const harmless[] = {
        "__kernel void k(__global int *h, __global const int *d, int n) { for (int i = get_global_id(0); i < "
        "n; i += get_global_size(0)) atomic_inc(&h[d[i] & 7]); }",
        "__kernel void k(__global int *c, __global int *o, int n) { for (int i = 0; i < n; i++) { int at = "
        "atomic_inc(c); if (at < 9) o[at] = i; } }",
        "__kernel void k(__global const int *row, __global int *o) { int s = 0; for (int i = row[0]; i < "
        "row[1]; i++) s += i; *o = s; }",
        "__kernel void k(__global const int *next, __global int *o) { int n = 0; while (n != -1) { n = "
        "next[n]; } *o = n; }",
        "void add(volatile __global float *p, float v) { union { uint u; float f; } o, n; do { o.f = *p; n.f "
        "= o.f + v; } while "
        "(atomic_cmpxchg((volatile __global uint *)p, o.u, n.u) != o.u); }\n__kernel void k(__global float "
        "*p) { add(p, 1); }",
        "__kernel void k(__global int *p) { int old = *p, assumed; do { assumed = old; old = "
        "atomic_cmpxchg(p, assumed, assumed + 1); } while (assumed != old); }",
        "__kernel void k(__local int *p) { while (atomic_cmpxchg(p, 0, 1) == 1) ; }",
        "__kernel void k(__global int *p, int n) { for (int i = 0; i < n; i++) { if (p[0] > 7) break; p[1 + "
        "get_global_id(0)] += i; } }",
        "__kernel void k(__global int *c, __global int *o, int n) { int at = atomic_add(c, n); if (at + n <= "
        "99) for (int i = 0; i < n; i++) o[at + i] = i; }",
        "__kernel void k(__global int *c, __global int *o, int n) { if (atomic_inc(c) == 7) { int i = 0; "
        "while (i < n) { o[i] = i; i += 2; } } }",
    };

    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        expect_sliceable(harmless[i], true);
}
END_TEST

static const char *const disguised[] = {
    ("__kernel void k(__global int *f) { int v; do { v = f[0]; mem_fence(CLK_GLOBAL_MEM_FENCE); } "
     "while (v == 0); }"),
    ("__kernel void k(__global int *f) { for (;;) { int v = f[0]; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); if (v) break; } }"),
    ("__kernel void k(__global int *f) { int done = 0; while (!done) { if (f[0]) done = 1; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("int get(__global int *f) { return f[0]; } __kernel void k(__global int *f) { while (get(f) "
     "== 0) mem_fence(CLK_GLOBAL_MEM_FENCE); }"),
    ("__kernel void k(__global int *f) { while (vload4(0, f).x == 0) "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); }"),
    ("void get(__global int *f, int *o) { *o = f[0]; } __kernel void k(__global int *f) { int v; "
     "do { get(f, &v); mem_fence(CLK_GLOBAL_MEM_FENCE);} while (v == 0); }"),
    ("__kernel void k(__global int *f, int n) { int i = 0; while (i < n || f[0] == 0) { i++; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("__kernel void k(__global int *f) { int stop = 0; while (f[0] == 0 && !stop) { stop = f[1]; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("__kernel void k(__global int *f) { int ok = 0; while (!ok) { atomic_or(f, 0) && (ok = 1); } "
     "}"),
    ("__kernel void k(__global int *f) { int ok = 0; int *p = &ok; while (!ok) { *p = "
     "atomic_or(f, 0); } }"),
    ("void poll(__global int *f, int *o) { *o = atomic_or(f, 0); } __kernel void k(__global int "
     "*f) { int a[1] = {0}; while (!a[0]) poll(f, a); }"),
    ("void poll(__global int *f, __local int *o) { *o = atomic_or(f, 0); } __kernel void "
     "k(__global int *f, __local int *s) { s[0] = 0; barrier(1); while (!s[0]) { poll(f, s); "
     "barrier(1);} }"),
    ("__kernel void k(__global int *f) { __local int s[1]; __local int *p = s; s[0] = 0; while "
     "(!s[0]) { p[0] = atomic_or(f, 0); barrier(1);} }"),
    ("__kernel void k(__global int *f) { int e; do { e = 1; } while (atomic_cmpxchg(f, e, 2) != "
     "e); }"),
    ("__kernel void k(__global int *f) { int e; do { e = *f & ~1; } while (atomic_cmpxchg(f, e, e "
     "| 1) != e); }"),
    ("__kernel void k(__global int *f) { int e; do { e = f[1]; } while (atomic_cmpxchg(f, e, e | "
     "1) != e); }"),
    ("__kernel void k(__global int *f) { for (;;) { int e = 0; if (atomic_cmpxchg(f, e, 1) == e) "
     "break; } }"),
    ("__kernel void k(__global int *f) { int e, r; do { e = 0; r = atomic_cmpxchg(f, e, 1); } "
     "while (r != e); }"),
    ("__kernel void k(__global int *f) { int e, i = get_group_id(0); do { e = i; } while "
     "(atomic_cmpxchg(f, e, i + 1) != e); }"),
    ("void w(__global int *f) { if (!atomic_or(f, 0)) w(f); } __kernel void k(__global int *f) { "
     "w(f); }"),
    ("__kernel void k(__global int *f) { int ok = 0; while (!ok) { ok = atomic_or(f, 0) & "
     "INT_MAX; } }"),
    ("__kernel void k(__global int *f) { for (int i = 0; i < 1; i += f[0]) "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); }"),
    ("__kernel void k(__global int *f) { for (int i = 0; i < 1; ) { i = f[0]; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE);} }"),
    ("__kernel void k(__global int *f) { for (int v = f[0]; v == 0; v = f[0]) "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); }"),
    ("__kernel void k(__global int *f) { int v; while (mem_fence(CLK_GLOBAL_MEM_FENCE), v = f[0], "
     "v == 0) ; }"),
    ("__kernel void k(__global int *f) { __local int s[1]; do { event_t e = "
     "async_work_group_copy(s, f, 1, 0); wait_group_events(1, &e); } while (s[0] == 0); }"),
    ("struct q { int head, flag; }; __kernel void k(__global struct q *f) { int v; do { v = "
     "f->flag; mem_fence(CLK_GLOBAL_MEM_FENCE); } while (!v); }"),
    ("__kernel void k(__global int *st) { int g = get_group_id(0), p = g - 1, s = 0; while (p >= "
     "0) { int v = st[p]; if (v) { s += v; p--; } mem_fence(CLK_GLOBAL_MEM_FENCE);} st[g] = s + "
     "1; }"),
    ("__kernel void k(volatile __global int *st) { int g = get_group_id(0), p = g - 1, s = 0; "
     "while (p >= 0) { int v = st[p]; if (v) { s += v; p--; } } st[g] = s + 1; }"),
    ("__kernel void k(__global int *st) { int g = get_group_id(0), p = g - 1, s = 0; while (p >= "
     "0) { int v = atomic_or(&st[p], 0); p -= v != 0; s += v; } st[g] = s + 1; }"),
    ("__kernel void k(__global int *st) { int g = get_group_id(0), p = g - 1, s = 0; for (; p >= "
     "0; p -= (atomic_or(&st[p], 0) != 0)) s++; st[g] = s + 1; }"),
    ("struct s { int a, b; }; __kernel void k(__global struct s *f) { struct s v; do { v = *f; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); } while (v.a == 0); }"),
    ("typedef struct { volatile int flag; int x; } S; __kernel void k(__global S *f) { while "
     "(!f->flag) ; }"),
    ("__kernel void k(__global int *f) { volatile __global int *p = f; int i = 0; while (p[i] == "
     "0) { i = i ^ 1; } }"),
    ("__kernel void k(__global int *f) { int n = 0; while (n < 3) { n = n + (atomic_xchg(f, 0) != "
     "0); } }"),
    ("__kernel void k(__global int *f) { int v = 0; do { if (v) continue; v = atomic_or(f,0); } "
     "while (!v); }"),
    ("void upd(__global int *f, int *v) { if (f[0]) *v = 1; } __kernel void k(__global int *f) { "
     "int v = 0; while (!v) { upd(f, &v); mem_fence(CLK_GLOBAL_MEM_FENCE);} }"),
    ("struct s { int *p; }; __kernel void k(__global int *f) { int i = 0; for (;;) { if (i > 9 && "
     "f[0]) break; i++; mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("__kernel void k(__global int *f, int on) { while (on) { if (f[0]) break; "
     "mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("__kernel void k(__global int *f) { int i = 0; while (i < 9) { for (int j = 0; f[i] && j < "
     "1; j++) i++; mem_fence(CLK_GLOBAL_MEM_FENCE); } }"),
    ("__kernel void k(__global int *f) { for (;;) { int old = *f; if (old & 1) continue; if "
     "(atomic_cmpxchg(f, old, old | 1) == old) break; } }"),
    "__kernel void k(__global int *f) { int i = 0; while (!(f[0] && i > 9)) { i++; "
    "mem_fence(CLK_GLOBAL_MEM_FENCE); } }",
};

START_TEST(waiting_in_disguise_is_not_cut)
{
    for (size_t i = 0; i < sizeof disguised / sizeof disguised[0]; i++)
        expect_sliceable(disguised[i], false);
}
END_TEST

/* A goto forward skips; only one backward, or into a loop, makes rounds that are not seen. */
START_TEST(a_goto_forward_is_no_loop)
{
    static const char *const harmless[] = {
        "__kernel void k(__global int *a, int n) { int i = get_global_id(0); if (i >= n) goto end; a[i] = 1; "
        "end: ; }",
        "__kernel void k(__global int *a) { if (a[get_global_id(0)] == 0) goto low; a[get_global_id(0)] = 2; "
        "return; "
        "low: a[get_global_id(0)] = 3; }",
        "__kernel void k(__global int *a, int n) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j "
        "< n; j++) "
        "{ s += a[i * n + j]; if (s > 99) goto out; } out: a[get_global_id(0)] = s; }",
        "__kernel void k(__global int *a, int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < 4; j++) "
        "if (a[4 * i + j] == 7) goto next; a[4 * i] = 0; next: ; } }",
        "void put(__global int *a, int i) { if (i & 1) goto done; a[i] = i; done: ; }\n"
        "__kernel void k(__global int *a) { put(a, get_global_id(0)); }",
    };
    static const char *const waiting[] = {
        "__kernel void k(__global int *f) { again: if (f[0] == 0) goto again; }",
        "__kernel void k(__global int *f) { for (;;) { if (atomic_or(f, 0)) goto out; } out: f[1] = 1; }",
        "__kernel void k(__global volatile int *f) { while (1) { if (*f) goto out; } out: f[1] = 1; }",
        "__kernel void k(__global int *f) { int d = 0; while (!d) { if (atomic_or(f, 0) == 0) goto again; d "
        "= 1; again: ; } }",
        "__kernel void k(__global int *f) { int d = 0; while (!d) { if (f[0] == 0) goto again; d = 1; again: "
        "; } }",
        "__kernel void k(__global int *f) { int n = 2; for (int i = 0; i < n; i++) { if (atomic_or(f, 0)) "
        "goto next; "
        "n = i + 2; next: ; } }",
        "__kernel void k(__global int *f, int n) { int d = 0; while (!d) for (int i = 0; i < n; i++) "
        "{ if (!atomic_or(f, 0)) goto next; d = 1; next: ; } }",
        "__kernel void k(__global int *f, int n) { if (n) goto in; while (f[1]) { in: f[2] = 1; } }",
        "__kernel void k(__global int *f) { goto test; body: f[1]++; test: if (atomic_or(f, 0) == 0) goto "
        "body; }",
    };

    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        expect_sliceable(harmless[i], true);
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        expect_sliceable(waiting[i], false);
}
END_TEST

static const char *const walking[] = {
    ("__kernel void k(__global const int *rp, __global const float *v, __global float *o) { int i "
     "= get_global_id(0); float s = 0; for (int j = rp[i]; j < rp[i+1]; j++) s += v[j]; o[i] = s; "
     "}"),
    ("__kernel void k(__global const int *rp, __global const float *v, __global float *o) { int i "
     "= get_global_id(0); float s = 0; int j = rp[i]; while (j < rp[i+1]) { s += v[j]; j++; } "
     "o[i] = s; }"),
    ("__kernel void k(__global const int *a, __global int *o, int n, int x) { int lo = 0, hi = n; "
     "while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid] < x) lo = mid + 1; else hi = mid; } "
     "o[0] = lo; }"),
    ("__kernel void k(__global const int *a, __global int *o, int n, int x) { int lo = 0, hi = n; "
     "while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid] == x) { o[0] = 1; break; } else if "
     "(a[mid] < x) lo = mid + 1; else hi = mid; } o[0] = lo; }"),
    ("__kernel void k(__global const int *a, __global const int *b, __global int *o, int n) { int "
     "i = 0, j = 0, q = 0; while (i < n && j < n) { if (a[i] < b[j]) o[q++] = a[i++]; else o[q++] "
     "= b[j++]; } }"),
    ("__kernel void k(__global const int *next, __global int *o) { int n = 0; while (n != -1) n = "
     "next[n]; *o = n; }"),
    ("__kernel void k(__global const int *next, __global int *o) { int s = 0; for (int n = 0; n "
     ">= 0; n = next[n]) s++; *o = s; }"),
    ("__kernel void k(__global const int4 *nodes, __global int *o) { int st[32]; int sp = 0; "
     "st[sp++] = 0; int hit = 0; while (sp > 0) { int n = st[--sp]; int4 x = nodes[n]; if (x.x > "
     "3) { st[sp++] = x.y; st[sp++] = x.z; } else hit++; } o[get_global_id(0)] = hit; }"),
    ("__kernel void k(__global const int4 *nodes, __global int *o) { int n = 0, hit = 0; while (n "
     "!= -1) { int4 x = nodes[n]; if (x.x > 3) { n = x.y; } else { hit++; n = x.z; } } "
     "o[get_global_id(0)] = hit; }"),
    ("__kernel void k(__global const int *t, __global int *o, int key, int mask) { int h = key & "
     "mask; while (t[h] != key && t[h] != -1) h = (h + 1) & mask; o[0] = h; }"),
    ("__kernel void k(__global const int *t, __global int *o, int key, int mask) { int h = key & "
     "mask; for (;;) { int v = t[h]; if (v == key) break; if (v == -1) { h = -1; break; } h = (h "
     "+ 1) & mask; } o[0] = h; }"),
    ("__kernel void k(__global const char *s, __global int *o) { int i = 0; while (s[i]) i++; "
     "o[0] = i; char c; i = 0; while ((c = s[i++]) != 0) o[1] += c; }"),
    "__kernel void k(__global const char *s, __global int *o) { while (*s++) o[0]++; }",
    ("__kernel void k(__global const int *s, __global const int *e, __global int *o) { __global "
     "const int *p = s; while (p != e) { o[0] += *p; ++p; } }"),
    ("__kernel void k(__global const int *s, __global int *o, int n) { int i = 0; while (i < n) { "
     "if (s[0] > 7) break; i++; } }"),
    ("__kernel void k(__global const int *s, __global int *o, int n, int x) { int i = 0, done = "
     "0; while (!done) { if (s[i] == x) done = 1; if (++i == n) done = 1; } o[0] = i; }"),
    ("__kernel void k(__global const float *s, __global float *o) { float x = 1, e; do { float f "
     "= s[0] * x - s[1]; e = fabs(f); x -= f / s[0]; } while (e > 1e-3f); o[0] = x; }"),
    ("__kernel void k(__global int *o) { float x = 0, y = 0; int i = 0; while (x * x + y * y < 4 "
     "&& i < 100) { float t = x * x - y * y; y = 2 * x * y; x = t; i++; } o[get_global_id(0)] = "
     "i; }"),
    ("__kernel void k(__global const int *d, __global int *o, int n) { int i = get_global_id(0); "
     "while (i < n) { o[i] = d[i]; i += get_global_size(0); } }"),
    ("__kernel void k(__global int *p, __global int *o) { int x = get_global_id(0); while (p[x] "
     "!= x) x = p[x]; o[0] = x; }"),
    ("__kernel void k(__global int *a, __local int *t) { int l = get_local_id(0); t[l] = "
     "a[get_global_id(0)]; barrier(1); for (int s = get_local_size(0) / 2; s > 0; s >>= 1) { if "
     "(l < s) t[l] += t[l + s]; barrier(1); } a[0] = t[0]; }"),
    ("__kernel void k(__global int *a, __local int *t) { int sw; do { sw = 0; for (int i = 0; i < "
     "7; i++) if (t[i] > t[i+1]) { int x = t[i]; t[i] = t[i+1]; t[i+1] = x; sw = 1; } } while "
     "(sw); a[0] = t[0]; }"),
    ("void add(volatile __global float *p, float v) { union { uint u; float f; } o, n; do { o.f = "
     "*p; n.f = o.f + v; } while (atomic_cmpxchg((volatile __global uint *)p, o.u, n.u) != o.u); "
     "} __kernel void k(__global float *p) { add(p, 1); }"),
    ("void add(volatile __global float *addr, float val) { union { uint u32; float f32; } next, "
     "expected, current; current.f32 = *addr; do { expected.f32 = current.f32; next.f32 = "
     "expected.f32 + val; current.u32 = atomic_cmpxchg((volatile __global uint *)addr, "
     "expected.u32, next.u32); } while (current.u32 != expected.u32); } __kernel void k(__global "
     "float *p) { add(p, 1); }"),
    ("__kernel void k(__global int *p) { int old = *p, assumed; do { assumed = old; old = "
     "atomic_cmpxchg(p, assumed, assumed + 1); } while (assumed != old); }"),
    ("__kernel void k(__global int *p) { for (;;) { int old = *p; if (atomic_cmpxchg(p, old, old "
     "+ 1) == old) break; } }"),
    ("__kernel void k(__global int *p) { int prev = p[0], cur; while ((cur = atomic_cmpxchg(p, "
     "prev, prev * 2)) != prev) prev = cur; }"),
    ("__kernel void k(__global int *p, int i) { int old; do { old = p[i]; } while "
     "(atomic_cmpxchg(&p[ i ], old, old + 1) != old); }"),
    ("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n#pragma OPENCL EXTENSION "
     "cl_khr_fp64 : enable\nvoid add(__global double *val, double delta) { union { double f; "
     "ulong i; } old, new1; do { old.f = *val; new1.f = old.f + delta; } while "
     "(atom_cmpxchg((volatile __global ulong *)val, old.i, new1.i) != old.i); } __kernel void "
     "k(__global double *p) { add(p, 1); }"),
    ("__kernel void k(__global float *p, float v) { float cur = *p; int old, nw; do { old = "
     "as_int(*p); nw = as_int(as_float(old) + v); } while (atomic_cmpxchg((__global int *)p, old, "
     "nw) != old); }"),
    ("uint rnd(uint *s) { *s = *s * 1664525u + 1013904223u; return *s; } __kernel void k(__global "
     "const float *w, __global int *o) { uint s = get_global_id(0); while (rnd(&s) % 100 > w[0]) "
     "; o[0] = s; }"),
    ("__kernel void k(__global const int *m, __global int *o, int n) { int i = 0, j = 0; while (i "
     "< n) { while (j < m[i]) j++; i++; } o[0] = j; }"),
    ("__kernel void k(__global const int *m, __global int *o) { int i = 0; do { o[i] = m[i]; } "
     "while (m[++i]); }"),
    ("__kernel void k(__global const int2 *nd, __global const int *e, __global char *mask, "
     "__global char *vis, __global int *cost, int n) { int t = get_global_id(0); if (t < n && "
     "mask[t]) { mask[t] = 0; for (int i = nd[t].x; i < nd[t].y + nd[t].x; i++) { int id = e[i]; "
     "if (!vis[id]) { cost[id] = cost[t] + 1; mask[id] = 1; } } } }"),
    ("__kernel void k(__global const uchar *in, __global uchar *out, int n) { int i = 0, q = 0; "
     "while (i < n) { uchar c = in[i++]; if (c < 128) { for (int j = 0; j <= c; j++) out[q++] = "
     "in[i++]; } else { uchar v = in[i++]; for (int j = 0; j < c - 126; j++) out[q++] = v; } } }"),
    ("__kernel void k(__global const int *l, __global const int *r, __global const int *key, "
     "__global int *o, int x) { int n = 0, depth = 0; while (n >= 0) { depth++; if (key[n] == x) "
     "break; n = key[n] < x ? r[n] : l[n]; } o[0] = depth; }"),
    ("float sdf(__global const float *v, float3 p) { return v[(int)p.x] - p.y; } __kernel void "
     "k(__global const float *v, __global float *o) { float t = 0; float3 p = 0; for (int i = 0; "
     "i < 64; i++) { float d = sdf(v, p); if (d < 0.01f) break; t += d; p += d; } "
     "o[get_global_id(0)] = t; }"),
    ("float sdf(__global const float *v, float3 p) { return v[(int)p.x] - p.y; } __kernel void "
     "k(__global const float *v, __global float *o) { float t = 0; while (t < 10.0f) { float d = "
     "sdf(v, (float3)(t)); if (d < 0.01f) break; t += d; } o[get_global_id(0)] = t; }"),
    "__kernel void k(__global const int *a, __global int *o) { do { if (a[0] < 0) break; o[0] = 1; } "
    "while (0); }",
    "__kernel void k(__global const int *a, __global int *o) { int i = 0; while (!(a[i] == 3 || i > 9)) "
    "i++; o[0] = i; }",
};

START_TEST(loops_that_walk_over_shared_memory_are_cut)
{
    for (size_t i = 0; i < sizeof walking / sizeof walking[0]; i++)
        expect_sliceable(walking[i], true);
}
END_TEST

HARNESS_MAIN("translate waits", 60, kernels_that_wait_for_other_groups_are_not_cut,
             kernels_that_only_look_like_waiting_are_cut, waiting_in_disguise_is_not_cut,
             a_goto_forward_is_no_loop, loops_that_walk_over_shared_memory_are_cut)
