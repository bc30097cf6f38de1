/*
 * Device code with function pointers, virtual functions, recursion, lambdas, device-side new,
 * printf, and structures.
 */
#include "expect.h"

#include <cstring>
#include <unistd.h>

typedef float (*operation)(float, float);

__device__ float add(float a, float b)
{
    return a + b;
}
__device__ float multiply(float a, float b)
{
    return a * b;
}
__device__ __noinline__ float power(float a, float b)
{
    return b < 1 ? 1 : a * power(a, b - 1);
}
__device__ operation table[3] = {add, multiply, power};
__device__ operation chosen = multiply;

__global__ void apply(operation f, float a, float b, float *out)
{
    out[0] = f(a, b);
    for (int i = 0; i < 3; i++)
        out[1 + i] = table[i](a, b);
}

struct Shape {
    __device__ virtual ~Shape()
    {
    }
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s)
    {
    }
    __device__ float area() const override
    {
        return side * side;
    }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r)
    {
    }
    __device__ float area() const override
    {
        return 3 * radius * radius;
    }
};

__global__ void areas(float *out, int n)
{
    for (int i = 0; i < n; i++) {
        Shape *shape = i % 2 ? (Shape *)new Square((float)i) : (Shape *)new Circle((float)i);

        out[i] = shape->area();
        delete shape;
    }
}

__device__ __noinline__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ void quicksort(int *data, int low, int high)
{
    int pivot = data[(low + high) / 2], i = low, j = high;

    while (i <= j) {
        while (data[i] < pivot)
            i++;
        while (data[j] > pivot)
            j--;
        if (i <= j) {
            int swap = data[i];

            data[i++] = data[j];
            data[j--] = swap;
        }
    }
    if (low < j)
        quicksort(data, low, j);
    if (i < high)
        quicksort(data, i, high);
}

__global__ void recurse(int *out, int *data, int n)
{
    out[threadIdx.x] = ackermann(2, threadIdx.x);
    if (threadIdx.x == 0)
        quicksort(data, 0, n - 1);
}

template <class F> __global__ void for_each(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        f(i);
}

struct big {
    int numbers[20];
    double weight;
    char name[16];
};
__global__ void take_big(big b, big *out)
{
    b.numbers[threadIdx.x % 20] *= 2; /* a copy of its own for each thread */
    if (threadIdx.x == 3)
        *out = b;
}

template <class T> __device__ T fold(T a)
{
    return a;
}
template <class T, class... R> __device__ T fold(T a, R... rest)
{
    return a + fold<T>(rest...);
}
__global__ void speak(const char *name)
{
    printf("%s: thread %d of %u, %5.2f %c %llx %e %% %-6s|\n", name, threadIdx.x, blockDim.x, 3.14159, 'x',
           0x123456789abcull, 1.5e10, "ab");
    if (threadIdx.x == 0)
        printf("fold %d\n", fold(1, 2, 3, 4));
}

static void test_print()
{
    char text[2000] = {0};
    int ends[2], saved = dup(1);
    char *name;

    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    dup2(ends[1], 1);
    CHECK(cudaMallocManaged(&name, 8));
    strcpy(name, "kernel");
    speak<<<1, 2>>>(name);
    CHECK(cudaDeviceSynchronize());
    fflush(stdout);
    dup2(saved, 1);
    close(ends[1]);
    if (read(ends[0], text, sizeof text - 1) < 0)
        exit(1);
    EXPECT(strstr(text, "kernel: thread 0 of 2,  3.14 x 123456789abc 1.500000e+10 % ab    |\n"));
    EXPECT(strstr(text, "kernel: thread 1 of 2,  3.14 x 123456789abc 1.500000e+10 % ab    |\n"));
    EXPECT(strstr(text, "fold 10\n"));
}

int main()
{
    float *out, result[8];
    operation f;
    int *ints, host[64];
    big b = {{0}, 2.5, "name"}, copy, *device_big;

    CHECK(cudaMalloc(&out, sizeof result));
    CHECK(cudaMalloc(&ints, 2 * sizeof host));
    CHECK(cudaMemcpyFromSymbol(&f, chosen, sizeof f));
    apply<<<1, 1>>>(f, 3, 4, out);
    CHECK(cudaMemcpy(result, out, 16, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(result[0], 12);
    EXPECT_EQUAL(result[1], 7);
    EXPECT_EQUAL(result[2], 12);
    EXPECT_EQUAL(result[3], 81);
    areas<<<1, 1>>>(out, 8);
    CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT_EQUAL(result[i], i % 2 ? i * i : 3 * i * i);
    for (int i = 0; i < 64; i++)
        host[i] = i * 37 % 64;
    CHECK(cudaMemcpy(ints + 64, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
    recurse<<<1, 8>>>(ints, ints + 64, 64);
    CHECK(cudaMemcpy(host, ints, 32, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT_EQUAL(host[i], 2 * i + 3);
    CHECK(cudaMemcpy(host, ints + 64, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT_EQUAL(host[i], i);
    int factor = 3;
    for_each<<<2, 32>>>(50, [=] __device__(int i) { ints[i] = i * factor; });
    CHECK(cudaMemcpy(host, ints, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 50; i++)
        EXPECT_EQUAL(host[i], 3 * i);
    for (int i = 0; i < 20; i++)
        b.numbers[i] = i;
    CHECK(cudaMalloc(&device_big, sizeof b));
    take_big<<<1, 32>>>(b, device_big);
    CHECK(cudaMemcpy(&copy, device_big, sizeof b, cudaMemcpyDeviceToHost));
    EXPECT(copy.numbers[3] == 6 && copy.numbers[4] == 4 && copy.weight == 2.5 && !strcmp(copy.name, "name"));
    test_print();
    return expect_failures != 0;
}
