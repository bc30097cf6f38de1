/*
 * Unified memory: a list that host and device both walk, prefetches and advice, module variables,
 * attributes of pointers.
 */
#include "expect.h"

#include <cstring>
#include <new>

struct node {
    int value;
    node *next;
};

struct Managed {
    void *operator new(size_t size)
    {
        void *p = nullptr;

        CHECK(cudaMallocManaged(&p, size));
        CHECK(cudaDeviceSynchronize());
        return p;
    }
    void operator delete(void *p)
    {
        CHECK(cudaFree(p));
    }
};

class Text : public Managed
{
    int length;
    char *data;

  public:
    Text(const char *s) : length((int)strlen(s))
    {
        CHECK(cudaMallocManaged(&data, length + 1));
        memcpy(data, s, length + 1);
    }
    ~Text()
    {
        cudaFree(data);
    }
    __host__ __device__ int size() const
    {
        return length;
    }
    __host__ __device__ char &operator[](int i)
    {
        return data[i];
    }
};

__managed__ int counter = 5;
__managed__ double table[4] = {1, 2, 3, 4};
__device__ __managed__ unsigned flags;

__global__ void walk(node *list, int *ret_sum)
{
    int sum = 0;

    for (node *n = list; n; n = n->next) {
        sum += n->value;
        n->value = -n->value;
    }
    *ret_sum = sum;
    counter++;
    atomicOr(&flags, 4u);
    table[3] += table[0];
}

__global__ void shout(Text &text)
{
    int i = threadIdx.x;

    if (i < text.size() && text[i] >= 'a' && text[i] <= 'z')
        text[i] -= 'a' - 'A';
}

int main()
{
    node *list = nullptr;
    int *sum;
    cudaPointerAttributes about;
    int on_host;

    for (int i = 1; i <= 100; i++) {
        node *n;

        CHECK(cudaMallocManaged(&n, sizeof *n));
        n->value = i;
        n->next = list;
        list = n;
    }
    CHECK(cudaMallocManaged(&sum, sizeof *sum, cudaMemAttachGlobal));
    walk<<<1, 1>>>(list, sum);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQUAL(*sum, 5050);
    EXPECT_EQUAL(list->value, -100);
    EXPECT_EQUAL(counter, 6);
    EXPECT_EQUAL(table[3], 5);
    EXPECT_EQUAL(flags, 4);
    counter = 10;
    walk<<<1, 1>>>(list, sum);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQUAL(counter, 11);
    EXPECT_EQUAL(*sum, -5050);
    CHECK(cudaPointerGetAttributes(&about, sum));
    EXPECT(about.type == cudaMemoryTypeManaged);
    EXPECT(about.devicePointer == sum && about.hostPointer == sum);
    CHECK(cudaPointerGetAttributes(&about, &on_host));
    EXPECT(about.type == cudaMemoryTypeUnregistered);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemAdvise(sum, sizeof *sum, cudaMemAdviseSetReadMostly, here));
    CHECK(cudaMemPrefetchAsync(sum, sizeof *sum, here, 0, 0));
    here = {cudaMemLocationTypeHost, 0};
    CHECK(cudaMemPrefetchAsync(sum, sizeof *sum, here, 0, 0));
    Text *text = new Text("hello, World");
    shout<<<1, 32>>>(*text);
    CHECK(cudaDeviceSynchronize());
    EXPECT(strcmp(&(*text)[0], "HELLO, WORLD") == 0);
    delete text;
    return expect_failures != 0;
}
