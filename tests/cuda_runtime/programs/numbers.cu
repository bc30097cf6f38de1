/*
 * The mathematical functions of CUDA C against those of the host, within the errors that the
 * documentation states.
 */
#include "expect.h"

#include <vector>

#define FUNCTIONS(F)                                                                                         \
    F(sin, 4)                                                                                                \
    F(cos, 4) F(exp, 4) F(tanh, 4) F(erf, 4) F(atan, 4) F(cbrt, 4) F(asinh, 4) F(expm1, 4) F(sinh, 6)        \
        F(cosh, 6) F(erfc, 16) F(floor, 0) F(ceil, 0) F(trunc, 0) F(round, 0) F(rint, 0) F(fabs, 0)          \
            F(exp2, 4)
#define POSITIVE(F) F(sqrt, 0) F(log, 4) F(log2, 4) F(log10, 4) F(log1p, 4) F(lgamma, 16) F(tgamma, 24)

enum functions_id {
#define F(name, error) ID_##name,
    FUNCTIONS(F) POSITIVE(F)
#undef F
        N_FUNCTIONS
};

template <class T> __global__ void evaluate(const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
#define F(name, error) y[ID_##name * n + i] = name(x[i]);
    FUNCTIONS(F)
#undef F
#define F(name, error) y[ID_##name * n + i] = name(fabs(x[i]) + T(0.1));
    POSITIVE(F)
#undef F
}

template <class T> __global__ void binary(const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    y[i] = pow(fabs(x[i]) + T(0.5), T(1.7));
    y[n + i] = atan2(x[i], T(2));
    y[2 * n + i] = fmod(x[i], T(0.7));
    y[3 * n + i] = hypot(x[i], T(3));
    y[4 * n + i] = fma(x[i], x[i], T(-1));
    y[5 * n + i] = T(1) / x[i];
    y[6 * n + i] = remainder(x[i], T(0.7));
    y[7 * n + i] = copysign(T(2), x[i]);
    y[8 * n + i] = ldexp(x[i], 5);
    y[9 * n + i] = fmin(x[i], T(0)) + fmax(x[i], T(1));
}

__global__ void intrinsics(unsigned *out, unsigned a, unsigned b)
{
    out[0] = __popc(a);
    out[1] = __clz(a);
    out[2] = __ffs(a);
    out[3] = __brev(a);
    out[4] = __umulhi(a, b);
    out[5] = __byte_perm(a, b, 0x5140);
    out[6] = __funnelshift_l(a, b, 9);
    out[7] = __dp4a((int)a, (int)b, 5);
    out[8] = __vadd4(a, b);
    out[9] = __usad(a, b, 3);
    out[10] = __float_as_uint(__fadd_rz(1.0f, 1e-8f));
    out[11] = __float_as_uint(__fdiv_ru(1.0f, 3.0f));
    out[12] = (unsigned)__float2int_rn(2.5f);
    out[13] = (unsigned)__double2int_rd(-2.5);
    out[14] = __float_as_uint(__saturatef(1.5f));
    out[15] = __float_as_uint(__fsqrt_rd(2.0f));
    out[16] = (unsigned)(__mul64hi(0x123456789abcdefLL, 0x7edcba987654321LL) >> 3);
    out[17] = __hadd(5, 8);
    out[18] = __float_as_uint(rsqrtf(4.0f));
    out[19] = __vmaxs2(a, b);
}

template <class T> static void test(double unit)
{
    enum { N = 1000 };
    std::vector<T> x(N), y(N_FUNCTIONS * N);
    T *dx, *dy;

    for (int i = 0; i < N; i++)
        x[i] = (T)((i - 500) * 0.0123 + 0.001);
    CHECK(cudaMalloc(&dx, N * sizeof(T)));
    CHECK(cudaMalloc(&dy, N_FUNCTIONS * N * sizeof(T)));
    CHECK(cudaMemcpy(dx, x.data(), N * sizeof(T), cudaMemcpyHostToDevice));
    evaluate<T><<<(N + 127) / 128, 128>>>(dx, dy, N);
    CHECK(cudaMemcpy(y.data(), dy, y.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
#define F(name, error)                                                                                       \
    EXPECT_NEAR(y[ID_##name * N + i], name((double)x[i]), (error)*unit + (error ? unit : 0));
        FUNCTIONS(F)
#undef F
#define F(name, error)                                                                                       \
    if (ID_##name != ID_lgamma && ID_##name != ID_log && ID_##name != ID_log2 && ID_##name != ID_log10)      \
        EXPECT_NEAR(y[ID_##name * N + i], name((double)(T)(fabs(x[i]) + T(0.1))), (error)*unit + unit);      \
    else                                                                                                     \
        EXPECT(fabs(y[ID_##name * N + i] - name((double)(T)(fabs(x[i]) + T(0.1)))) < 20 * unit);
        POSITIVE(F)
#undef F
    }
    binary<T><<<(N + 127) / 128, 128>>>(dx, dy, N);
    CHECK(cudaMemcpy(y.data(), dy, y.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        double v = x[i], c = (double)T(0.7);

        EXPECT_NEAR(y[i], pow((double)(T)(fabs(x[i]) + T(0.5)), (double)T(1.7)), 16 * unit);
        EXPECT_NEAR(y[N + i], atan2(v, 2), 4 * unit);
        EXPECT_EQUAL(y[2 * N + i], fmod(v, c));
        EXPECT_NEAR(y[3 * N + i], hypot(v, 3), 4 * unit);
        EXPECT_EQUAL(y[4 * N + i], (T)std::fma(x[i], x[i], T(-1)));
        EXPECT_EQUAL(y[5 * N + i], T(1) / x[i]);
        EXPECT_EQUAL(y[6 * N + i], remainder(v, c));
        EXPECT_EQUAL(y[7 * N + i], v < 0 ? -2 : 2);
        EXPECT_EQUAL(y[8 * N + i], v * 32);
        EXPECT_EQUAL(y[9 * N + i], (T)(T)((v < 0 ? x[i] : T(0)) + (v > 1 ? x[i] : T(1))));
    }
}

static void test_intrinsics()
{
    unsigned *out, r[20];
    const unsigned a = 0x0f0203f4, b = 0x81fe7f03;
    /* By hand: bytes of a are f4 03 02 0f, of b 03 7f fe 81, lowest first. */
    int dot = 5;
    unsigned sums = 0;

    for (int i = 0; i < 4; i++) {
        dot += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
        sums |= (((a >> 8 * i) + (b >> 8 * i)) & 255) << 8 * i;
    }
    CHECK(cudaMalloc(&out, sizeof r));
    intrinsics<<<1, 1>>>(out, a, b);
    CHECK(cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(r[0], __builtin_popcount(a));
    EXPECT_EQUAL(r[1], 4);
    EXPECT_EQUAL(r[2], 3);
    EXPECT_EQUAL(r[3], 0x2fc040f0);
    EXPECT_EQUAL(r[4], (unsigned)((unsigned long long)a * b >> 32));
    EXPECT_EQUAL(r[5], 0x7f0303f4); /* bytes 0, 4, 1, 5 from the lowest */
    EXPECT_EQUAL(r[6], (unsigned)(((unsigned long long)b << 32 | a) << 9 >> 32));
    EXPECT_EQUAL(r[7], (unsigned)dot);
    EXPECT_EQUAL(r[8], sums);
    EXPECT_EQUAL(r[9], b - a + 3);
    EXPECT_EQUAL(r[10], 0x3f800000);
    EXPECT_EQUAL(r[11], 0x3eaaaaab);
    EXPECT_EQUAL(r[12], 2);
    EXPECT_EQUAL(r[13], (unsigned)-3);
    EXPECT_EQUAL(r[14], 0x3f800000);
    EXPECT_EQUAL(r[15], 0x3fb504f3);
    EXPECT_EQUAL(r[16],
                 (unsigned)(long long)(((__int128)0x123456789abcdefLL * 0x7edcba987654321LL >> 64) >> 3));
    EXPECT_EQUAL(r[17], 6);
    EXPECT_EQUAL(r[18], 0x3f000000);
    EXPECT_EQUAL(r[19], 0x0f027f03);
}

int main()
{
    test<float>(1.2e-7);
    test<double>(2.3e-16);
    test_intrinsics();
    return expect_failures != 0;
}
