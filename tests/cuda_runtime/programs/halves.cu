/*
 * cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: conversions, arithmetic in pairs, comparisons, atomics.
 */
#include "expect.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector>

__global__ void axpy(const __half *x, __half *y, __half a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (2 * i + 1 < n)
        ((__half2 *)y)[i] = __hfma2(__half2half2(a), ((const __half2 *)x)[i], ((__half2 *)y)[i]);
}

__global__ void mixed(const float *in, __half *h, __nv_bfloat16 *b, float *out, int n)
{
    int i = threadIdx.x;

    if (i >= n)
        return;
    h[i] = __float2half_rn(in[i]);
    b[i] = __float2bfloat16(in[i]);
    out[i] = __half2float(h[i] * h[i] + __float2half(1.0f));
    out[n + i] = __bfloat162float(b[i] * __float2bfloat16(2.0f));
    out[2 * n + i] = __half2float(hsqrt(__habs(h[i]))) + (float)__hlt(h[i], __float2half(0.0f));
    out[3 * n + i] = __half2float(__hmax(h[i], __float2half(0.25f)));
    out[4 * n + i] = float(__nv_fp8_e4m3(in[i]));
    out[5 * n + i] = __half2float(hexp2(__float2half(floorf(in[i]))));
}

__global__ void add_up(__half2 *pair, __half *one, float *total)
{
    atomicAdd(pair, __floats2half2_rn(1.0f, 2.0f));
    atomicAdd(one, __float2half(0.5f));
    atomicAdd(total, 0.25f);
}

/* Dot product of halves, accumulated in single precision by shuffles. */
__global__ void dot(const __half2 *a, const __half2 *b, float *out, int n)
{
    float sum = 0;

    for (int i = threadIdx.x; i < n; i += 32) {
        float2 p = __half22float2(__hmul2(a[i], b[i]));

        sum += p.x + p.y;
    }
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (!threadIdx.x)
        *out = sum;
}

/* The half that is nearest to x, ties to even; x is normal. */
static double to_half(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);

    return ldexp(nearbyint(ldexp(fraction, 11)), exponent - 11);
}
static double to_bfloat(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);

    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

int main()
{
    enum { N = 200 };
    std::vector<__half> x(N), y(N), hx(N);
    std::vector<float> in(N), out(6 * N);
    __half *dx, *dy;
    __nv_bfloat16 *db;
    float *df, *din, host_total;

    for (int i = 0; i < N; i++) {
        x[i] = __float2half((float)(i % 16));
        y[i] = __float2half((float)(i % 7));
        in[i] = (float)(i - 99.5f) * 0.0371f;
    }
    CHECK(cudaMalloc(&dx, N * 2));
    CHECK(cudaMalloc(&dy, N * 2));
    CHECK(cudaMalloc(&db, N * 2));
    CHECK(cudaMalloc(&df, N * 24));
    CHECK(cudaMalloc(&din, N * 4));
    CHECK(cudaMemcpy(dx, x.data(), N * 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dy, y.data(), N * 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(din, in.data(), N * 4, cudaMemcpyHostToDevice));
    axpy<<<2, 64>>>(dx, dy, __float2half(3.0f), N);
    CHECK(cudaMemcpy(y.data(), dy, N * 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(__half2float(y[i]), 3 * (i % 16) + i % 7);
    mixed<<<1, 256>>>(din, dx, db, df, N);
    CHECK(cudaMemcpy(out.data(), df, N * 24, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        double h = to_half(in[i]);

        EXPECT_NEAR(out[i], h * h + 1, 0.002); /* two roundings or one, as the compiler contracts */
        EXPECT_EQUAL(out[N + i], 2 * to_bfloat(in[i]));
        EXPECT_NEAR(out[2 * N + i], sqrt(fabs(h)) + (h < 0), 0.001);
        EXPECT_EQUAL(out[3 * N + i], h > 0.25 ? h : 0.25);
        EXPECT_NEAR(out[4 * N + i], in[i], fabs(in[i]) > 0.02 ? 0.0626 : 1);
        EXPECT_EQUAL(out[5 * N + i], exp2(floor(in[i])));
    }
    CHECK(cudaMemset(dx, 0, 8));
    CHECK(cudaMemset(df, 0, 4));
    add_up<<<2, 50>>>((__half2 *)dx, dx + 2, df);
    CHECK(cudaMemcpy(x.data(), dx, 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&host_total, df, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(__half2float(x[0]), 100);
    EXPECT_EQUAL(__half2float(x[1]), 200);
    EXPECT_EQUAL(__half2float(x[2]), 50);
    EXPECT_EQUAL(host_total, 25);
    for (int i = 0; i < N; i++)
        hx[i] = __float2half((float)(i % 5));
    CHECK(cudaMemcpy(dy, hx.data(), N * 2, cudaMemcpyHostToDevice));
    dot<<<1, 32>>>((__half2 *)dy, (__half2 *)dy, df, N / 2);
    CHECK(cudaMemcpy(&host_total, df, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host_total, N / 5 * (0 + 1 + 4 + 9 + 16));
    return expect_failures != 0;
}
