/*
 * Two devices: work on each, copies between them, one reads the other's memory, names that tell
 * them apart.
 */
#include "expect.h"

#include <cstring>
#include <vector>

__global__ void add(const int *a, int *b, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        b[i] = a[i] + value;
}

int main()
{
    enum { N = 1000 };
    int count = 0, can = 0, *data[2], device = -1, found = -1;
    cudaStream_t streams[2];
    cudaEvent_t done;
    std::vector<int> host(N);
    cudaDeviceProp about[2];
    char bus[2][32];

    CHECK(cudaGetDeviceCount(&count));
    EXPECT_EQUAL(count, 2);
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaGetDeviceProperties(&about[d], d));
        CHECK(cudaDeviceGetPCIBusId(bus[d], sizeof bus[d], d));
        CHECK(cudaDeviceGetByPCIBusId(&found, bus[d]));
        EXPECT_EQUAL(found, d);
        CHECK(cudaStreamCreate(&streams[d]));
        CHECK(cudaMalloc(&data[d], N * 4));
    }
    EXPECT(strcmp(bus[0], bus[1]) != 0);
    EXPECT(memcmp(&about[0].uuid, &about[1].uuid, sizeof about[0].uuid) != 0);
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaSetDevice(0));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaMemcpyAsync(data[0], host.data(), N * 4, cudaMemcpyHostToDevice, streams[0]));
    add<<<4, 256, 0, streams[0]>>>(data[0], data[0], N, 1);
    CHECK(cudaMemcpyPeerAsync(data[1], 1, data[0], 0, N * 4, streams[0]));
    CHECK(cudaEventRecord(done, streams[0]));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamWaitEvent(streams[1], done, 0));
    add<<<4, 256, 0, streams[1]>>>(data[1], data[1], N, 10);
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
    EXPECT_EQUAL(can, 1);
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
    CHECK(cudaStreamSynchronize(streams[1]));
    CHECK(cudaMemcpy(host.data(), data[1], N * 4, cudaMemcpyDefault));
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(host[i], i + 11);
    add<<<4, 256, 0, streams[1]>>>(data[0], data[1], N, 100); /* reads the memory of device 0 */
    CHECK(cudaMemcpyPeer(data[0], 0, data[1], 1, N * 4));
    CHECK(cudaMemcpy(host.data(), data[0], N * 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host[5], 106);
    /* A stream of the other device is refused for a launch. */
    add<<<1, 1, 0, streams[0]>>>(data[1], data[1], 1, 0);
    EXPECT(cudaGetLastError() != cudaSuccess);
    CHECK(cudaGetDevice(&device));
    EXPECT_EQUAL(device, 1);
    return expect_failures != 0;
}
