/*
 * Everyday kernels: n-body, Game of Life, Mandelbrot, prefix sum, bitonic sort, transpose, Monte
 * Carlo, LU by one block.
 */
#include "expect.h"

#include <algorithm>
#include <vector>

__global__ void forces(const float4 *bodies, float3 *out, int n)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = bodies[i];
    float3 sum = make_float3(0, 0, 0);

    for (int t = 0; t < n; t += blockDim.x) {
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < (int)blockDim.x; k++) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f),
                  f = tile[k].w * inverse * inverse * inverse;

            sum.x += dx * f;
            sum.y += dy * f;
            sum.z += dz * f;
        }
        __syncthreads();
    }
    out[i] = sum;
}

__global__ void life(const unsigned char *in, unsigned char *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;

    if (x >= w || y >= h)
        return;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                n += in[(y + dy + h) % h * w + (x + dx + w) % w];
    out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}

__host__ __device__ int escape(double cx, double cy)
{
    double x = 0, y = 0;
    int n = 0;

    while (n < 200 && x * x + y * y <= 4) {
        double t = x * x - y * y + cx;

        y = 2 * x * y + cy;
        x = t;
        n++;
    }
    return n;
}
__global__ void mandelbrot(int *out, int w, int h)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x)
        out[i] = escape(-2 + 0.1875 * (i % w) / 4, -1.5 + 0.1875 * (i / w) / 4);
}

__global__ void scan(const int *in, int *out, int n) /* one block, work-efficient */
{
    extern __shared__ int data[];
    int t = threadIdx.x, offset = 1;

    data[2 * t] = in[2 * t];
    data[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            data[offset * (2 * t + 2) - 1] += data[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0)
        data[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, swap = data[a];

            data[a] = data[b];
            data[b] += swap;
        }
    }
    __syncthreads();
    out[2 * t] = data[2 * t];
    out[2 * t + 1] = data[2 * t + 1];
}

__global__ void bitonic(unsigned *data, int j, int k)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;

    if (other > i && (data[i] > data[other]) == ((i & k) == 0)) {
        unsigned swap = data[i];

        data[i] = data[other];
        data[other] = swap;
    }
}

template <int TILE, int ROWS> __global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void count_points(unsigned long long *hits, int each)
{
    unsigned long long state = 88172645463325252ull + (blockIdx.x * blockDim.x + threadIdx.x) * 7919ull;
    int own = 0;

    for (int i = 0; i < each; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        float x = (float)(state >> 40) / 16777216.0f, y = (float)(state >> 16 & 0xffffff) / 16777216.0f;

        own += x * x + y * y < 1;
    }
    atomicAdd(hits, (unsigned long long)own);
}

__global__ void lu(double *a, int n)
{
    int t = threadIdx.x;

    for (int k = 0; k < n - 1; k++) {
        if (t > k && t < n)
            a[t * n + k] /= a[k * n + k];
        __syncthreads();
        if (t > k && t < n)
            for (int j = k + 1; j < n; j++)
                a[t * n + j] -= a[t * n + k] * a[k * n + j];
        __syncthreads();
    }
}

template <class T> static T *upload(const std::vector<T> &host)
{
    T *p;

    CHECK(cudaMalloc(&p, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> static std::vector<T> download(const T *p, size_t n)
{
    std::vector<T> host(n);

    CHECK(cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

static void test_bodies()
{
    enum { N = 256 };
    std::vector<float4> bodies(N);
    unsigned seed = 5;
    float3 *out;

    for (float4 &b : bodies)
        b = make_float4((float)(next_random(&seed) >> 8) * 1e-7f, (float)(next_random(&seed) >> 8) * 1e-7f,
                        (float)(next_random(&seed) >> 8) * 1e-7f, 1);
    CHECK(cudaMalloc(&out, N * sizeof(float3)));
    forces<<<N / 64, 64, 64 * sizeof(float4)>>>(upload(bodies), out, N);
    std::vector<float3> result = download(out, N);
    for (int i = 0; i < N; i++) {
        double x = 0, size = 0;

        for (const float4 &b : bodies) {
            double dx = b.x - bodies[i].x, dy = b.y - bodies[i].y, dz = b.z - bodies[i].z;
            double f = pow(dx * dx + dy * dy + dz * dz + 0.01, -1.5);

            x += dx * f;
            size += fabs(dx * f);
        }
        EXPECT(fabs(result[i].x - x) < 1e-5 * size);
    }
}

static void test_grids()
{
    enum { W = 70, H = 50 };
    std::vector<unsigned char> board(W * H), next(W * H);
    unsigned seed = 11;

    for (auto &cell : board)
        cell = next_random(&seed) >> 30 == 0;
    unsigned char *a = upload(board), *b = upload(board);
    for (int step = 0; step < 5; step++) {
        life<<<dim3(5, 7), dim3(16, 8)>>>(step % 2 ? b : a, step % 2 ? a : b, W, H);
        for (int i = 0; i < W * H; i++) {
            int n = 0;

            for (int d = 0; d < 9; d++)
                n += d == 4 ? 0 : board[(i / W + d / 3 - 1 + H) % H * W + (i % W + d % 3 - 1 + W) % W];
            next[i] = n == 3 || (n == 2 && board[i]);
        }
        board = next;
    }
    EXPECT(download(b, W * H) == board);
    int *out;
    CHECK(cudaMalloc(&out, 64 * 64 * 4));
    mandelbrot<<<5, 96>>>(out, 64, 64);
    std::vector<int> picture = download(out, 64 * 64);
    for (int i = 0; i < 64 * 64; i++)
        EXPECT(abs(picture[i] - escape(-2 + 0.1875 * (i % 64) / 4, -1.5 + 0.1875 * (i / 64) / 4)) <=
               (picture[i] > 150 ? 200 : 3)); /* contraction of the device moves the border a little */
}

static void test_sorting()
{
    enum { N = 1024 };
    std::vector<int> in(N), expected(N);
    std::vector<unsigned> keys(N);
    unsigned seed = 23;

    for (int i = 0; i < N; i++) {
        in[i] = (int)(next_random(&seed) >> 25);
        keys[i] = next_random(&seed);
        expected[i] = i ? expected[i - 1] + in[i - 1] : 0;
    }
    int *out;
    CHECK(cudaMalloc(&out, N * 4));
    scan<<<1, N / 2, N * 4>>>(upload(in), out, N);
    EXPECT(download(out, N) == expected);
    unsigned *sorted = upload(keys);
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
            bitonic<<<N / 128, 128>>>(sorted, j, k);
    std::sort(keys.begin(), keys.end());
    EXPECT(download(sorted, N) == keys);
}

static void test_matrices()
{
    enum { N = 64, M = 24 };
    std::vector<float> in(N * N);
    std::vector<double> a(M * M), expected;
    float *out;
    unsigned long long *hits, total;

    for (int i = 0; i < N * N; i++)
        in[i] = (float)i;
    CHECK(cudaMalloc(&out, N * N * 4));
    transpose<32, 8><<<dim3(N / 32, N / 32), dim3(32, 8)>>>(upload(in), out, N);
    std::vector<float> turned = download(out, N * N);
    for (int i = 0; i < N * N; i++)
        EXPECT_EQUAL(turned[i], in[i % N * N + i / N]);
    CHECK(cudaMalloc(&hits, 8));
    CHECK(cudaMemset(hits, 0, 8));
    count_points<<<8, 64>>>(hits, 200);
    CHECK(cudaMemcpy(&total, hits, 8, cudaMemcpyDeviceToHost));
    EXPECT_NEAR((double)total / (8 * 64 * 200) * 4, 3.14159, 0.02);
    for (int i = 0; i < M * M; i++)
        a[i] = i % 7 + (i / M == i % M ? 40 : 0);
    expected = a;
    double *device = upload(a);
    lu<<<1, 32>>>(device, M);
    std::vector<double> result = download(device, M * M);
    for (int i = 0; i < M; i++) /* L times U is the matrix again */
        for (int j = 0; j < M; j++) {
            double sum = 0;

            for (int k = 0; k <= std::min(i, j); k++)
                sum += (k == i ? 1 : result[i * M + k]) * result[k * M + j];
            EXPECT(fabs(sum - expected[i * M + j]) < 1e-10);
        }
}

int main()
{
    test_bodies();
    test_grids();
    test_sorting();
    test_matrices();
    return expect_failures != 0;
}
