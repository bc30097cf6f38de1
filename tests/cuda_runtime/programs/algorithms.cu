/* Thrust and CUB on top of the device: sort, reduce, scan, transform, select. */
#include "expect.h"

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <vector>

struct square {
    __host__ __device__ int operator()(int x) const
    {
        return x * x;
    }
};

int main()
{
    const int N = 3000;
    thrust::host_vector<int> host(N);
    unsigned seed = 17;

    for (int i = 0; i < N; i++)
        host[i] = (int)(next_random(&seed) >> 20);
    thrust::device_vector<int> device = host, squares(N), sums(N);
    thrust::transform(device.begin(), device.end(), squares.begin(), square());
    EXPECT_EQUAL(squares[7], host[7] * host[7]);
    EXPECT_EQUAL(thrust::reduce(device.begin(), device.end(), 0),
                 std::accumulate(host.begin(), host.end(), 0));
    thrust::inclusive_scan(device.begin(), device.end(), sums.begin());
    EXPECT_EQUAL(sums[N - 1], std::accumulate(host.begin(), host.end(), 0));
    thrust::sort(device.begin(), device.end());
    thrust::host_vector<int> sorted = device;
    std::vector<int> expected(host.begin(), host.end());
    std::sort(expected.begin(), expected.end());
    EXPECT(std::equal(expected.begin(), expected.end(), sorted.begin()));
    size_t bytes = 0;
    void *room = nullptr;
    int *top;
    CHECK(cudaMalloc(&top, 4));
    CHECK(cub::DeviceReduce::Max(room, bytes, thrust::raw_pointer_cast(squares.data()), top, N));
    CHECK(cudaMalloc(&room, bytes));
    CHECK(cub::DeviceReduce::Max(room, bytes, thrust::raw_pointer_cast(squares.data()), top, N));
    int high;
    CHECK(cudaMemcpy(&high, top, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(high, expected.back() * expected.back());
    return expect_failures != 0;
}
